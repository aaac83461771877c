// Oracle: the allowed values of each block of 512 bytes of an export, for reads and after a crash.
//
//     write W   |--------|            value allowed from the beginning of W
//     write X               |-----|   begun after W was answered: once X is answered, W is over
//     read R                  |------|  may give X, or the value before X, but none before W
//
// Each write has a number, and fills its blocks with their own index and this number. So a value
// that was never written, or was written to another block, is found at once.
//
// A disk may have any size. Blocks with the same history and without data are checked as one.
//
// Units: bytes; nanoseconds of virtual time, as the client saw them.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "histories.hpp"
#include "image.hpp"

namespace blkscope::simulation {

class Oracle {
  public:
    static constexpr uint64_t block_bytes = 512;

    /// The effect of a request on its blocks. Kept zeroes leave no hole (NBD_CMD_FLAG_NO_HOLE).
    /// A content is what a loss has left of the whole disk.
    enum class Effect : uint8_t { data, zeroes, kept_zeroes, maybe_zeroes, content };

    /// One descriptor of a block status.
    struct Told {
        uint64_t bytes = 0;
        bool hole = false;
        bool zero = false;
    };

    /// What is written has the number of the image, so that it is known in another one; below 4.
    explicit Oracle(const Image& content, uint64_t image = 0);
    explicit Oracle(std::span<const std::byte> content) : Oracle(Image(content)) {}

    [[nodiscard]] uint64_t bytes() const { return of_block_.blocks() * block_bytes; }

    /// A writing request is sent; returns its number.
    uint32_t begin_write(uint64_t at, uint64_t bytes, Effect effect, hrtime_t now);
    /// Fills `to` with the write's data.
    void fill(uint32_t write, std::span<std::byte> to) const;
    /// The write was answered; `stable` if it was written through.
    void end_write(uint32_t write, bool succeeded, bool stable, hrtime_t now);
    /// A flush sent at `since` has succeeded. Some calls also check what a crash would leave now
    /// without any unsynced sector. Returns the error, or an empty text.
    std::string flushed(hrtime_t since, hrtime_t now);
    /// The disk of the export; must outlive the oracle's use.
    void watch(const Image& disk) { disk_ = &disk; }

    /// Another process has cut the file there. The rest may be lost. Later writes to it may be lost,
    /// too, until a flush that was sent after `now` has succeeded. Not if `noticed`.
    void truncated(uint64_t at, hrtime_t now, bool noticed);

    /// Another server has ended and is back with this content. All else that was answered is lost.
    /// Returns when the last of the missing data was acknowledged; 0 if none is missing. See
    /// check_disk() for what must be there.
    hrtime_t came_back(std::span<const std::byte> content, hrtime_t now);

    /// The device has lost its volatile cache, and has this content. What was flushed or written through must be
    /// there. If the blocks of the cache have `cache_bytes`, the first sectors of a block are not older than the
    /// last ones. Requests without an answer have none from now on. Returns the error, or an empty text.
    std::string power_lost(const Image& content, uint64_t cache_bytes, hrtime_t now);

    /// The disk's first bytes, which no client writes.
    void keep(std::span<const std::byte> first) { kept_.assign(first.begin(), first.end()); }

    /// Data may be lost, so nothing more is promised, and a flush sent after `known_at` must fail.
    /// A flush under way may still succeed. Of two syncs at one moment, Linux reports the error to
    /// one, and the other may be answered first.
    void sync_failed(hrtime_t known_at);
    [[nodiscard]] bool must_fail(hrtime_t since) const { return since > known_at_; }

    /// The error in the data of a read sent at `since`; empty if the data is allowed.
    [[nodiscard]] std::string check_read(uint64_t at, std::span<const std::byte> data,
                                         hrtime_t since, hrtime_t now) const;
    /// The error in a block status that was asked at `since`; empty if the status is allowed.
    ///
    /// What is told to be zero may read as zeroes. No hole is told where data or kept zeroes are settled. A page
    /// that was a hole from the beginning on, and that no request has touched, is told to be one.
    [[nodiscard]] std::string check_status(uint64_t at, std::span<const Told> told, hrtime_t since,
                                           hrtime_t now) const;
    /// The error in a status that ends at `at` with `last`, though there is more to tell: the next block is certainly
    /// data, too, and two extents with one status are one.
    [[nodiscard]] std::string check_end(uint64_t at, const Told& last, hrtime_t since) const;
    /// The same for the blocks that a crash has left.
    [[nodiscard]] std::string check_disk(const Image& disk, hrtime_t now) const;
    [[nodiscard]] std::string check_disk(std::span<const std::byte> disk, hrtime_t now) const {
        return check_disk(Image(disk), now);
    }
    /// Whether the page was a hole from the beginning on, and no request has touched it.
    [[nodiscard]] bool is_untouched(uint64_t at) const;

  private:
    // A block's data is its own index and the number of the write, again and again.
    static constexpr unsigned block_shift = 24;
    static constexpr unsigned image_shift = 22;
    static constexpr uint64_t image_mask = (uint64_t{1} << (block_shift - image_shift)) - 1;
    [[nodiscard]] uint64_t word_for(uint64_t block, uint32_t write) const;
    static uint64_t number_of(uint64_t word) { return word & ((uint64_t{1} << image_shift) - 1); }

    static constexpr hrtime_t never = std::numeric_limits<hrtime_t>::max();

    struct Write {
        uint64_t first = 0;  // block
        uint64_t end = 0;
        Effect effect = Effect::data;
        bool succeeded = false;
        bool lost = false;  // had no answer when the power was lost
        hrtime_t begun = 0;
        hrtime_t ended = never;
        hrtime_t stable = never;
    };

    /// A write of the whole disk at once.
    struct Content {
        Content(uint32_t its_write, const Image& image);

        [[nodiscard]] uint64_t word(uint64_t block) const;
        /// The first block behind this one that may have another word than 0.
        [[nodiscard]] uint64_t next(uint64_t block) const;

        uint32_t write;
        std::map<uint64_t, std::array<uint64_t, page_sectors>> words;  // of each block, by page
    };

    [[nodiscard]] std::string check_block(uint64_t block, std::span<const std::byte> data,
                                          hrtime_t since, hrtime_t now, bool after_crash) const;
    [[nodiscard]] std::string check_status_of(uint64_t block, const Told& told, hrtime_t since,
                                              hrtime_t now) const;
    [[nodiscard]] bool is_settled(uint64_t block, hrtime_t since) const;
    void take_content(const Image& content, Effect effect, hrtime_t now);
    [[nodiscard]] std::string check_tear(const Image& content, uint64_t page) const;
    [[nodiscard]] bool came_before(uint64_t block, const Write& write, uint64_t word) const;
    [[nodiscard]] hrtime_t last_missing(std::span<const std::byte> content, hrtime_t now) const;
    [[nodiscard]] bool over(uint64_t block, const Write& write, hrtime_t since,
                            bool after_crash) const;
    [[nodiscard]] uint64_t next_block(uint64_t block) const;

    const Image* disk_ = nullptr;
    uint64_t flushes_ = 0;
    bool promises_ = true;
    hrtime_t known_at_ = never;
    uint32_t truncation_ = 0;        // as a write; 0: none
    std::vector<std::byte> kept_;    // whole blocks
    std::vector<Content> contents_;  // the initial one, and those of came_back()
    std::vector<Write> writes_;      // number 0 is the initial content
    const uint64_t image_;
    Histories of_block_;
};

}  // namespace blkscope::simulation
