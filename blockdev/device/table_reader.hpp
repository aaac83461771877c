// Functions and classes that the readers of GPT and MBR share: sectors, little-endian numbers,
// errors.
//
// Units:     sectors; bytes where a name says so.
// Ownership: SectorReader borrows the function that reads.
// Threads:   any.
// Errors:    BadTable.
#pragma once

#include <cassert>
#include <concepts>
#include <stdexcept>
#include <string>
#include <vector>

#include "blockdev/device/partition_table.hpp"

namespace blkscope {

/// A table is there and is wrong. read_partition_table() catches this exception.
class BadTable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A disk as an array of sectors. Each read is checked against the size of the disk.
class SectorReader {
  public:
    SectorReader(uint64_t size_bytes, uint32_t sector_bytes, const ReadDisk& read)
        : sectors_(size_bytes / sector_bytes), sector_bytes_(sector_bytes), read_(read) {
        assert(sector_bytes > 0);
    }

    [[nodiscard]] uint64_t sectors() const { return sectors_; }
    [[nodiscard]] uint32_t sector_bytes() const { return sector_bytes_; }

    /// Reads `count` sectors from `first` on. Throws BadTable for sectors outside the disk, and for
    /// sectors that cannot be read.
    [[nodiscard]] std::vector<std::byte> read(uint64_t first, uint64_t count) const {
        if (!holds(first, count)) throw BadTable("it refers to sectors past the end of the disk");
        if (count == 0) return {};  // an empty vector has no memory to read to
        std::vector<std::byte> bytes(count * sector_bytes_);
        if (!read_(first * sector_bytes_, bytes)) throw BadTable("its sectors cannot be read");
        return bytes;
    }

    /// True if all of the sectors are on the disk. Written without a sum that could wrap.
    [[nodiscard]] bool holds(uint64_t first, uint64_t count) const {
        return first <= sectors_ && count <= sectors_ - first;
    }

    /// A partition of these sectors. Throws BadTable if the disk does not have all of them.
    [[nodiscard]] Partition partition(uint32_t number, uint64_t first, uint64_t count) const {
        assert(number > 0);
        assert(count > 0);
        if (!holds(first, count)) {
            throw BadTable("partition " + std::to_string(number) + " ends beyond the disk");
        }
        return {number, first * sector_bytes_, count * sector_bytes_};
    }

  private:
    uint64_t sectors_;
    uint32_t sector_bytes_;
    const ReadDisk& read_;
};

/// The little-endian number at `offset`. All of its bytes lie inside `bytes`.
template <std::unsigned_integral T>
T load_le(std::span<const std::byte> bytes, size_t offset) {
    assert(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
    uint64_t value = 0;
    for (size_t i = sizeof(T); i-- > 0;) {
        value = value << 8 | std::to_integer<uint64_t>(bytes[offset + i]);
    }
    return static_cast<T>(value);
}

/// The partitions of a GPT. Throws BadTable if there is no valid GPT.
std::vector<Partition> read_gpt(const SectorReader& disk);

/// True if sector 1 begins with the signature of a GPT.
bool has_gpt(const SectorReader& disk);

}  // namespace blkscope
