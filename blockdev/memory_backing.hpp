// Memory, all zeroes at first and gone with the process; and null, which forgets what is written.
// Both complete within prepare(), without the kernel.
#pragma once

#include <string>

#include "blockdev/backing.hpp"

namespace blkscope {

class MemoryBacking : public Backing {
  public:
    explicit MemoryBacking(uint64_t size_bytes);
    ~MemoryBacking() override;

    [[nodiscard]] std::string describe() const override { return "memory"; }
    [[nodiscard]] uint64_t size_bytes() const override { return size_bytes_; }
    void attach(Ring& ring) override { ring_ = &ring; }
    void prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;

  private:
    void trim(uint64_t offset, uint64_t bytes);

    uint64_t size_bytes_;
    std::byte* memory_ = nullptr;
    Ring* ring_ = nullptr;
};

class NullBacking : public Backing {
  public:
    explicit NullBacking(uint64_t size_bytes) : size_bytes_(size_bytes) {}

    [[nodiscard]] std::string describe() const override { return "null"; }
    [[nodiscard]] uint64_t size_bytes() const override { return size_bytes_; }
    void attach(Ring& ring) override { ring_ = &ring; }
    void prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;

  private:
    uint64_t size_bytes_;
    Ring* ring_ = nullptr;
};

}  // namespace blkscope
