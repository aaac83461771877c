// A file descriptor that its owner closes: no path through the code, and no exception, leaks one.
#pragma once

#include <utility>

namespace blkscope {

/// Closes its descriptor in the destructor. A negative number means no descriptor.
///
/// Ownership: exactly one object owns a number; a move swaps or empties the other object.
/// Threads:   any, one at a time.
/// Errors:    none to report: the result of close(2) is ignored.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();

    /// The number, still owned by this object; -1 or another negative number for none.
    [[nodiscard]] int get() const { return number_; }
    [[nodiscard]] bool is_open() const { return number_ >= 0; }

    /// Gives the number up: the caller closes the returned descriptor.
    [[nodiscard]] int release() { return std::exchange(number_, -1); }

  private:
    int number_;
};

/// Opens each of the descriptors 0, 1 and 2 that is closed. Otherwise the next file or socket would get
/// its number. Reads of 0 and writes to 1 and 2 fail as before. For the start of main().
void occupy_standard_descriptors();

}  // namespace blkscope
