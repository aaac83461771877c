// A backing for tests. Every buf waits until the test ends it. A test therefore decides the order
// and the result of each operation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blockdev/backing/backing.hpp"

namespace blkscope {

class ScriptedBacking : public Backing {
  public:
    explicit ScriptedBacking(uint64_t size_bytes, uint32_t block_bytes = 1)
        : size_bytes_(size_bytes), block_bytes_(block_bytes) {}

    [[nodiscard]] std::string describe() const override { return "scripted"; }
    [[nodiscard]] uint64_t size_bytes() const override { return size_bytes_; }
    [[nodiscard]] uint32_t block_bytes() const override { return block_bytes_; }
    void attach(Ring& ring) override { ring_ = &ring; }
    std::optional<int32_t> prepare(Buf& buf) override {
        held.push_back(&buf);
        return std::nullopt;
    }
    bool read_now(uint64_t offset, std::span<std::byte> to) override {
        ++reads_at_once;
        if (offset > contents.size() || to.size() > contents.size() - offset) return false;
        std::memcpy(to.data(), contents.data() + offset, to.size());
        return true;
    }

    [[nodiscard]] bool reads_now() const override { return rest_ns == 0; }
    [[nodiscard]] hrtime_t rests_ns() const override { return rest_ns; }

    [[nodiscard]] bool sparse() const override { return !extents.empty(); }
    [[nodiscard]] Extent extent_at(uint64_t offset, uint64_t limit) override {
        ++look_ups;
        uint64_t at = 0;
        for (const Extent& extent : extents) {
            at += extent.bytes;
            if (offset < at) return {std::min(at - offset, limit), extent.hole};
        }
        return {limit, false};
    }

    /// Ends the operation that was prepared first. The caller dispatches the ring.
    void finish_first(int32_t result) {
        Buf* buf = held.front();
        held.pop_front();
        ring_->completed(*buf, result);
    }

    std::deque<Buf*> held;
    std::vector<std::byte> contents;  // for read_now() only
    int reads_at_once = 0;
    hrtime_t rest_ns = 0;         // until it may read at once
    std::vector<Extent> extents;  // from the first byte on; data follows them
    int look_ups = 0;

  private:
    uint64_t size_bytes_;
    uint32_t block_bytes_;
    Ring* ring_ = nullptr;
};

}  // namespace blkscope
