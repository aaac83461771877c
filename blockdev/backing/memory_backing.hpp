// MemoryBacking: memory, all zeroes at first, which ends with the process.
// NullBacking: reads zeroes, and discards written data.
//
// Both need no kernel. Each request is done within prepare(), except zeroing. Long ranges are zeroed
// in parts, one in each turn of the worker.
//
// Units:     bytes.
// Ownership: the backings of one memory own its store together. The last one gives a large store to a thread that
//            frees it.
// Threads:   as Backing.
// Errors:    the constructor throws std::system_error if the memory cannot be reserved.
#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "blockdev/backing/backing.hpp"
#include "blockdev/backing/memory_store.hpp"

namespace blkscope {

class MemoryBacking : public Backing {
  public:
    explicit MemoryBacking(uint64_t size_bytes);

    [[nodiscard]] std::string describe() const override { return "memory"; }
    [[nodiscard]] uint64_t size_bytes() const override { return store_->size_bytes(); }
    void attach(Ring& ring) override {
        assert(ring_ == nullptr);
        ring_ = &ring;
    }
    [[nodiscard]] bool shareable() const override { return true; }
    [[nodiscard]] std::unique_ptr<Backing> another() const override;
    std::optional<int32_t> prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;
    bool write_now(uint64_t offset, std::span<const std::byte> from) override;
    [[nodiscard]] Extent extent_at(uint64_t offset, uint64_t limit) override {
        return store_->extent_at(offset, limit);
    }
    [[nodiscard]] bool sparse() const override { return true; }

  private:
    explicit MemoryBacking(std::shared_ptr<MemoryStore> store) : store_(std::move(store)) {}
    std::optional<int32_t> zero(Buf& buf);

    std::shared_ptr<MemoryStore> store_;
    Ring* ring_ = nullptr;
};

class NullBacking : public Backing {
  public:
    explicit NullBacking(uint64_t size_bytes) : size_bytes_(size_bytes) {}

    [[nodiscard]] std::string describe() const override { return "null"; }
    [[nodiscard]] uint64_t size_bytes() const override { return size_bytes_; }
    void attach(Ring& ring) override {
        assert(ring_ == nullptr);
        ring_ = &ring;
    }
    [[nodiscard]] bool shareable() const override { return true; }
    [[nodiscard]] std::unique_ptr<Backing> another() const override {
        return std::make_unique<NullBacking>(size_bytes_);
    }
    std::optional<int32_t> prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;
    bool write_now(uint64_t, std::span<const std::byte>) override { return true; }
    /// The whole device is a hole. Reads still write zeroes to the caller's memory, because the
    /// backing exists to measure the cost of a read.
    [[nodiscard]] Extent extent_at(uint64_t, uint64_t limit) override { return {limit, true}; }

  private:
    uint64_t size_bytes_;
    Ring* ring_ = nullptr;
};

}  // namespace blkscope
