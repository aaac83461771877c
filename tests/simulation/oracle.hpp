// Oracle: for each block of 512 bytes of an export, the values that a read may give and a crash may
// leave.
//
//     write W   |--------|            value allowed from the beginning of W
//     write X               |-----|   begun after W was answered: once X is answered, W is over
//     read R                  |------|  may give X, or what was before X, but nothing before W
//
// Each write has a number, and fills its blocks with their own index and that number. A value that
// was never written, or was written elsewhere, is found at once.
//
// Units: bytes; nanoseconds of virtual time, as the client saw them.
#pragma once

#include <sys/kstat.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace blkscope::simulation {

class Oracle {
  public:
    static constexpr uint64_t block_bytes = 512;

    /// The effect of a request on its blocks.
    enum class Effect : uint8_t { data, zeroes, maybe_zeroes };

    explicit Oracle(std::span<const std::byte> content);

    [[nodiscard]] uint64_t bytes() const { return initial_.size() * block_bytes; }

    /// A request that writes is sent; its number.
    uint32_t begin_write(uint64_t at, uint64_t bytes, Effect effect, hrtime_t now);
    /// Its data.
    void fill(uint32_t write, std::span<std::byte> to) const;
    /// The write was answered; `stable` if it was written through.
    void end_write(uint32_t write, bool succeeded, bool stable, hrtime_t now);
    /// A flush that was sent at `since` has succeeded. Now and then says what a crash at this moment
    /// would leave wrong, if no unsynced sector survived; empty if nothing.
    std::string flushed(hrtime_t since, hrtime_t now);
    /// The disk behind the export, which outlives the oracle's use.
    void watch(const std::vector<std::byte>& disk) { disk_ = &disk; }

    /// These are the disk's first bytes, and nobody writes to them.
    void keep(std::span<const std::byte> first) { kept_.assign(first.begin(), first.end()); }

    /// Data may have been lost: from now on nothing more is promised, and a flush that is sent after
    /// `known_at` must fail. Requests that are under way may still be told that all went well: Linux
    /// tells one of two syncs at the same moment, and the other one is answered first.
    void sync_failed(hrtime_t known_at);
    [[nodiscard]] bool must_fail(hrtime_t since) const { return since > known_at_; }

    /// Says why the data of a read that was sent at `since` is wrong; empty if it is right.
    [[nodiscard]] std::string check_read(uint64_t at, std::span<const std::byte> data,
                                         hrtime_t since, hrtime_t now) const;
    /// The same for the blocks that a crash has left.
    [[nodiscard]] std::string check_disk(std::span<const std::byte> disk, hrtime_t now) const;

  private:
    static constexpr hrtime_t never = std::numeric_limits<hrtime_t>::max();

    struct Write {
        uint64_t first = 0;  // block
        uint64_t end = 0;
        Effect effect = Effect::data;
        bool succeeded = false;
        hrtime_t begun = 0;
        hrtime_t ended = never;
        hrtime_t stable = never;
    };

    [[nodiscard]] std::string check_block(uint64_t block, std::span<const std::byte> data,
                                          hrtime_t since, hrtime_t now, bool after_crash) const;
    [[nodiscard]] bool over(uint64_t block, const Write& write, hrtime_t since,
                            bool after_crash) const;

    const std::vector<std::byte>* disk_ = nullptr;
    uint64_t flushes_ = 0;
    bool promises_ = true;
    hrtime_t known_at_ = never;
    std::vector<std::byte> kept_;    // whole blocks
    std::vector<uint64_t> initial_;  // the word that fills a block
    std::vector<Write> writes_;      // number 0 is what was there before
    std::vector<std::vector<uint32_t>> of_block_;
};

}  // namespace blkscope::simulation
