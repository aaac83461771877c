// A file descriptor that its owner closes.
#pragma once

#include <utility>

namespace blkscope {

/// Closes its descriptor on destruction. A negative number is none.
///
/// Threads: any, one at a time.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();

    [[nodiscard]] int get() const { return number_; }
    [[nodiscard]] bool is_open() const { return number_ >= 0; }

    /// The caller closes the returned descriptor.
    [[nodiscard]] int release() { return std::exchange(number_, -1); }

  private:
    int number_;
};

}  // namespace blkscope
