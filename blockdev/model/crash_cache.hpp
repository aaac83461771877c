// CrashCache: the volatile write cache of a disk, and what a loss of power leaves of it.
//
//     block     medium: durable │ later writes, in their order, acknowledged from the cache
//       7          A            │ B  C  D          after a crash: A, AB, ABC or ABCD,
//       8          E            │ F                or torn: the first sectors of one of them,
//                                                  and the others of an older one
//
//     flush      all writes of the cache become durable, in their order
//     FUA        the write's own range becomes durable, also below later writes of the cache
//     full       a random block's writes become durable until there is room
//
// The class keeps the bytes of the writes and says what has to be written to the medium, through
// Medium. Reads are put together by the caller: read the medium, then overlay() the cache.
//
// A lying disk ignores flushes and FUA.
//
// Units:     bytes.
// Ownership: owns copies of the data of its writes. Borrows the medium for a call.
// Threads:   one at a time.
// Errors:    std::invalid_argument for a wrong text. The medium's owner reports its failed writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::model {

/// The part of the disk that survives a loss of power.
class Medium {
  public:
    virtual ~Medium() = default;
    Medium& operator=(Medium&&) = delete;

    /// Makes the bytes durable, after all that were written earlier.
    virtual void write(uint64_t offset, std::span<const std::byte> data) = 0;
};

struct CrashCacheOptions {
    static constexpr uint32_t page_bytes = 4096;
    static constexpr uint32_t sector_bytes = 512;

    uint64_t size_bytes = 0;            // of data at most; at least one page
    uint32_t block_bytes = page_bytes;  // a block survives in one version, or torn at a sector
    bool ignores_flush = false;
    uint64_t seed = 0;  // not in the text

    /// SIZE[,sector=512][,ignore-flush]
    static CrashCacheOptions parse(std::string_view text);
    [[nodiscard]] std::string text() const;

    bool operator==(const CrashCacheOptions&) const = default;

  private:
    void take_item(std::string_view item);
};

class CrashCache {
  public:
    /// The blocks that a crash has met.
    struct Survival {
        uint64_t blocks = 0;   // with writes in the cache
        uint64_t durable = 0;  // lost all of these
        uint64_t latest = 0;   // kept all of these
        uint64_t between = 0;  // kept some whole writes
        uint64_t torn = 0;     // has parts of two versions

        /// All counts, for a person.
        [[nodiscard]] std::string text() const;
    };

    explicit CrashCache(const CrashCacheOptions& options);

    /// A write. With `fua` its range is durable when the call returns.
    void write(uint64_t offset, std::span<const std::byte> data, bool fua, Medium& medium);
    /// Makes all writes durable, unless the disk lies.
    void flush(Medium& medium);
    /// Makes all writes durable, whether the disk lies or not: the end of an orderly stop.
    void write_back(Medium& medium);
    /// The loss of power. Writes to the medium what survives, and empties the cache.
    Survival crash(Medium& medium);

    /// Replaces what the cache has of the range that was read from the medium.
    void overlay(uint64_t offset, std::span<std::byte> data) const;
    /// The bytes of the range in front of the first block that has writes in the cache.
    [[nodiscard]] uint64_t bytes_to_cached(uint64_t offset, uint64_t bytes) const;
    [[nodiscard]] uint32_t block_bytes() const { return options_.block_bytes; }
    /// The data in the cache.
    [[nodiscard]] uint64_t used_bytes() const { return used_bytes_; }
    [[nodiscard]] bool empty() const { return blocks_.empty(); }

  private:
    // One write, or the part of it in one block.
    struct Piece {
        uint64_t offset;
        std::vector<std::byte> data;

        [[nodiscard]] uint64_t end() const { return offset + data.size(); }
    };
    using Pieces = std::vector<Piece>;
    using Blocks = std::map<uint64_t, Pieces>;  // by the number of the block

    void add(uint64_t offset, std::span<const std::byte> data);
    void make_durable(uint64_t offset, std::span<const std::byte> data, Medium& medium);
    void make_room(uint64_t bytes, Medium& medium);
    void retire_oldest(Pieces& pieces, Medium& medium);
    void write_back_block(Blocks::iterator at, Medium& medium);
    void lose_power(uint64_t block, const Pieces& pieces, Medium& medium, Survival& survival);
    template <class Part>
    void each_part(uint64_t offset, uint64_t bytes, Part part) const;

    CrashCacheOptions options_;
    Blocks blocks_;
    uint64_t used_bytes_ = 0;
    uint64_t pieces_ = 0;  // of all blocks
    uint64_t evictions_ = 0;
    uint64_t crashes_ = 0;
};

}  // namespace blkscope::model
