// Descriptors that belong to this process and to no child of it.
#pragma once

#include <string>
#include <utility>

namespace blkscope::kstat {

/// Closes a descriptor at the end of its life.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();

    int get() const { return number_; }

    /// The caller closes it now.
    int release() { return std::exchange(number_, -1); }

  private:
    int number_;
};

/// While it lives, the descriptor is this process's alone: a child of fork() finds something
/// harmless under the number, so it neither keeps a dead parent's socket answering nor its locks
/// taken. (Close-on-exec does the same for exec.)
///
/// The number is replaced, not closed: Asio in the child may still have it in its tables.
class NotInherited {
  public:
    explicit NotInherited(int number);
    ~NotInherited();
    NotInherited(const NotInherited&) = delete;
    NotInherited& operator=(const NotInherited&) = delete;

  private:
    int number_;
};

/// The run directory, made (mode 0755) if it is not there. Throws std::system_error.
Descriptor open_run_directory();

}  // namespace blkscope::kstat
