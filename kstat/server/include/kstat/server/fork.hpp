// What must happen around fork() so that a child is a process of its own.
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

/// Installs the handlers, once. Everything that needs them calls this first.
void watch_forks();

}  // namespace blkscope::kstat
