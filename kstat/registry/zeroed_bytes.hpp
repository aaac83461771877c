// ZeroedBytes: memory of a fixed size, zeroed. The pages of a large one come from the system as zeros, so only
// its user touches them.
//
// Units:     bytes; the alignment is that of malloc(3).
// Ownership: owns the memory; moves, and is not copied.
// Threads:   one.
// Errors:    std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace blkscope::kstat {

class ZeroedBytes {
  public:
    ZeroedBytes() = default;
    explicit ZeroedBytes(size_t size)
        : bytes_(static_cast<std::byte*>(std::calloc(size, 1))), size_(size) {
        if (bytes_ == nullptr && size > 0) throw std::bad_alloc();
    }
    ZeroedBytes(ZeroedBytes&& other) noexcept
        : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
    ZeroedBytes& operator=(ZeroedBytes&& other) noexcept {
        bytes_ = std::move(other.bytes_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }

    std::byte* data() { return bytes_.get(); }
    const std::byte* data() const { return bytes_.get(); }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::byte* begin() { return data(); }
    std::byte* end() { return data() + size_; }
    const std::byte* begin() const { return data(); }
    const std::byte* end() const { return data() + size_; }

  private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };

    std::unique_ptr<std::byte, Free> bytes_;
    size_t size_ = 0;
};

}  // namespace blkscope::kstat
