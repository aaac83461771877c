// The partition table of a disk: where its partitions lie, from a GPT or an MBR.
//
//     sector 0      MBR: four entries; one of type 0xee says that a GPT follows
//     sector 1      GPT header, with CRCs of itself and of the entries
//     elsewhere     the entries; an extended partition's chain of boot records (5, 6, ...)
//
// A table that is damaged, or that says what cannot be, is ignored as a whole: half a table would
// account requests to the wrong partition. Every number in it is foreign and is checked before it
// is used. The backup GPT at the disk's end is not looked at, as Linux does not unless told to.
//
// The extended partition itself is none of the partitions: its logical ones lie inside it.
//
// Units:   bytes, but for what is named otherwise.
// Threads: any; what `read` does is the caller's.
// Source:  UEFI 2.10 chapter 5 (GPT); the MBR layout as Linux reads it (block/partitions/msdos.c).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace blkscope {

struct Partition {
    uint32_t number = 0;  // as Linux numbers them: its place in the table, logical ones from 5
    uint64_t first_byte = 0;
    uint64_t bytes = 0;

    [[nodiscard]] uint64_t end() const { return first_byte + bytes; }
    friend bool operator==(const Partition&, const Partition&) = default;
};

struct PartitionTable {
    std::vector<Partition> partitions;  // by first byte; they do not overlap
    std::string problem;                // why a table that is there was ignored; empty: it was not
};

/// Fills all of the span with the disk's bytes from the offset on; false where it cannot.
using ReadDisk = std::function<bool(uint64_t offset, std::span<std::byte>)>;

/// More of them are taken for a damaged table.
inline constexpr size_t partitions_max = 128;

/// Where a table begins, if there is one: sectors 0 and 1, whatever the sector size.
inline constexpr uint64_t table_start_bytes = 8192;

/// Reads the table of a disk of `size_bytes`, whose sectors have 512 bytes, or 4096 if
/// `block_bytes` says that no smaller requests are allowed. A GPT is found at either.
///
/// Errors: none. A disk without a table, or that cannot be read, has no partitions.
PartitionTable read_partition_table(uint64_t size_bytes, uint32_t block_bytes,
                                    const ReadDisk& read);

}  // namespace blkscope
