// The partition table of a disk: where its partitions lie, from a GPT or an MBR.
//
//     sector 0      MBR: four entries; one of type 0xee says that a GPT follows
//     sector 1      GPT header, with CRCs of itself and of the entries
//     elsewhere     the entries; an extended partition's chain of boot records (5, 6, ...)
//
// A table that is damaged or inconsistent is ignored as a whole. Half a table would count requests
// on the wrong partition. Every number in a table is foreign input and is checked before it is
// used. The backup GPT at the disk's end is not read; by default Linux does not read it either.
//
// The extended partition itself is not listed; its logical partitions are.
//
// Units:     bytes, unless a name says sectors.
// Ownership: returns all by value.
// Threads:   any; `read` may have its own rule.
// Errors:    a damaged table gives the reason to ignore it.
// Source:    UEFI 2.10 chapter 5 (GPT); the MBR layout as Linux reads it
//            (block/partitions/msdos.c).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace blkscope {

struct Partition {
    uint32_t number = 0;  // Linux' number: the place in the table; logical partitions from 5 on
    uint64_t first_byte = 0;
    uint64_t bytes = 0;

    [[nodiscard]] uint64_t end() const { return first_byte + bytes; }
    friend bool operator==(const Partition&, const Partition&) = default;
};

/// The partitions by first byte, without overlaps; or the reason to ignore the table.
using PartitionTable = Result<std::vector<Partition>, std::string>;

/// Fills the whole span with the disk's bytes from the offset on; false on failure.
using ReadDisk = std::function<bool(uint64_t offset, std::span<std::byte>)>;

/// A table with more partitions counts as damaged.
inline constexpr size_t partitions_max = 128;

/// A table begins in sectors 0 and 1, which lie in these bytes for any sector size.
inline constexpr uint64_t table_start_bytes = 8192;

/// Reads the table of a disk of `size_bytes`. Its sectors have 512 bytes, or 4096 if `block_bytes`
/// allows no smaller requests. A GPT is found with either size.
///
/// A disk without a table, or one that cannot be read, has no partitions.
///
/// Errors: the reason to ignore a damaged table.
PartitionTable read_partition_table(uint64_t size_bytes, uint32_t block_bytes,
                                    const ReadDisk& read);

}  // namespace blkscope
