// The actions around fork() that make a child a process of its own.
#pragma once

#include <mutex>
#include <set>

namespace blkscope::kstat {

/// The descriptors that a child must not keep (NotInherited).
class OwnDescriptors {
  public:
    static OwnDescriptors& of_this_process();

    void add(int number);
    void remove(int number);

    void before_fork() { mutex_.lock(); }
    void after_fork_in_parent() { mutex_.unlock(); }
    void after_fork_in_child();

  private:
    std::mutex mutex_;
    std::set<int> numbers_;
};

/// Keeps a descriptor for this process alone, until destruction. In a child of fork(), the number
/// refers to a harmless descriptor instead. The child therefore does not keep a dead parent's
/// socket open or its locks locked. (Close-on-exec does the same for exec.)
///
/// The number is replaced, not closed: Asio in the child may still have it in its tables.
class NotInherited {
  public:
    explicit NotInherited(int number);
    ~NotInherited();
    NotInherited& operator=(NotInherited&&) = delete;

  private:
    int number_;
};

/// Installs the handlers, once. All code that needs them calls this function first.
void watch_forks();

}  // namespace blkscope::kstat
