// What the readers of the two kinds of tables share: sectors, little-endian numbers, complaints.
#pragma once

#include <cassert>
#include <concepts>
#include <stdexcept>
#include <string>
#include <vector>

#include "blockdev/device/partition_table.hpp"

namespace blkscope {

/// A table that is there and cannot be right. Stays inside read_partition_table().
class BadTable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A disk in sectors. Each read is checked against its size.
class SectorReader {
  public:
    SectorReader(uint64_t size_bytes, uint32_t sector_bytes, const ReadDisk& read)
        : sectors_(size_bytes / sector_bytes), sector_bytes_(sector_bytes), read_(read) {
        assert(sector_bytes > 0);
    }

    [[nodiscard]] uint64_t sectors() const { return sectors_; }
    [[nodiscard]] uint32_t sector_bytes() const { return sector_bytes_; }

    /// `count` sectors from `first` on. Throws BadTable for sectors that the disk does not have, or
    /// cannot give.
    [[nodiscard]] std::vector<std::byte> read(uint64_t first, uint64_t count) const {
        if (!holds(first, count)) throw BadTable("it refers to sectors past the end of the disk");
        if (count == 0) return {};  // a vector of none has no memory to read to
        std::vector<std::byte> bytes(count * sector_bytes_);
        if (!read_(first * sector_bytes_, bytes)) throw BadTable("its sectors cannot be read");
        return bytes;
    }

    /// True if all of the sectors are on the disk. No sum that could wrap.
    [[nodiscard]] bool holds(uint64_t first, uint64_t count) const {
        return first <= sectors_ && count <= sectors_ - first;
    }

    /// A partition of these sectors, which must be on the disk.
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

/// A little-endian number at `offset`, all of which must lie inside.
template <std::unsigned_integral T>
T load_le(std::span<const std::byte> bytes, size_t offset) {
    assert(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
    uint64_t value = 0;
    for (size_t i = sizeof(T); i-- > 0;) {
        value = value << 8 | std::to_integer<uint64_t>(bytes[offset + i]);
    }
    return static_cast<T>(value);
}

/// The partitions of a GPT. Throws BadTable where there is none.
std::vector<Partition> read_gpt(const SectorReader& disk);

/// True if sector 1 begins as a GPT does.
bool has_gpt(const SectorReader& disk);

}  // namespace blkscope
