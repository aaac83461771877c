// Memory, all zeroes at first and gone with the process; and null, which forgets what is written.
// Both complete within prepare(), without the kernel.
#pragma once

#include <string>

#include "blockdev/backing.hpp"
#include "blockdev/page_set.hpp"

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
    [[nodiscard]] Extent extent_at(uint64_t offset, uint64_t limit) override;
    [[nodiscard]] bool sparse() const override { return true; }

  private:
    void write(uint64_t offset, std::span<const std::byte> data);
    void zero(Buf& buf);
    void fill(uint64_t offset, uint64_t bytes);
    void empty(uint64_t offset, uint64_t bytes);
    void clear_part(uint64_t offset, uint64_t bytes);

    uint64_t size_bytes_;
    std::byte* memory_ = nullptr;
    PageSet written_;  // a page that is not in it is zeroes, and not there
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
    /// All of it is a hole. Its reads are answered with zeroes all the same: what a read costs is
    /// what it is for.
    [[nodiscard]] Extent extent_at(uint64_t, uint64_t limit) override { return {limit, true}; }

  private:
    uint64_t size_bytes_;
    Ring* ring_ = nullptr;
};

}  // namespace blkscope
