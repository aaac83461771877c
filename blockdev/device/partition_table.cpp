#include "blockdev/device/partition_table.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "blockdev/device/table_reader.hpp"

namespace blkscope {
namespace {

constexpr size_t entries_at = 446;
constexpr size_t entry_bytes = 16;
constexpr size_t entries = 4;
constexpr size_t magic_at = 510;
constexpr uint16_t magic = 0xaa55;
constexpr uint8_t active = 0x80;
constexpr uint8_t type_empty = 0;
constexpr uint8_t type_gpt = 0xee;
constexpr uint32_t first_logical = 5;
constexpr uint32_t small_sector_bytes = 512;
constexpr uint32_t large_sector_bytes = 4096;

struct Entry {
    uint8_t status;
    uint8_t type;
    uint32_t first;  // a sector; the kind of entry decides from where it is counted
    uint32_t count;

    [[nodiscard]] bool used() const { return type != type_empty && count != 0; }
    [[nodiscard]] bool extended() const {
        return used() && (type == 0x05 || type == 0x0f || type == 0x85);
    }
};

using Entries = std::array<Entry, entries>;

// The entries of a boot record, master or extended. The caller checks its magic.
Entries entries_of(std::span<const std::byte> sector) {
    assert(sector.size() >= magic_at + sizeof magic);
    Entries result{};
    for (size_t i = 0; i < entries; ++i) {
        const auto from = sector.subspan(entries_at + i * entry_bytes, entry_bytes);
        result[i] = {load_le<uint8_t>(from, 0), load_le<uint8_t>(from, 4),
                     load_le<uint32_t>(from, 8), load_le<uint32_t>(from, 12)};
    }
    return result;
}

// The boot sector of a FAT or NTFS file system has the same magic, but code instead of entries.
bool plausible(const Entries& all) {
    return std::ranges::all_of(
        all, [](const Entry& entry) { return entry.status == 0 || entry.status == active; });
}

// Follows the chain of an extended partition. Each boot record describes one logical partition,
// whose sectors count from the record. The link to the next record counts from the extended
// partition.
void read_logical(const SectorReader& disk, const Entry& extended, std::vector<Partition>& found) {
    uint64_t next = 0;
    auto number = std::max<uint32_t>(
        first_logical,
        found.empty() ? 0 : std::ranges::max(found, {}, &Partition::number).number + 1);
    for (size_t links = 0; links < partitions_max; ++links) {
        const uint64_t at = extended.first + next;
        const std::vector<std::byte> sector = disk.read(at, 1);
        if (load_le<uint16_t>(sector, magic_at) != magic) {
            throw BadTable("an extended boot record without its magic");
        }
        const Entries record = entries_of(sector);
        if (const Entry& logical = record[0]; logical.used()) {
            if (next + logical.first + logical.count > extended.count || logical.first == 0) {
                throw BadTable("logical partition " + std::to_string(number) +
                               " lies outside its extended partition");
            }
            found.push_back(disk.partition(number++, at + logical.first, logical.count));
        }
        if (!record[1].extended()) return;
        next = record[1].first;
        if (next == 0 || next >= extended.count) {
            throw BadTable("a logical partition's link points outside its extended partition");
        }
    }
    throw BadTable("a chain of logical partitions that does not end");
}

std::vector<Partition> read_mbr(const SectorReader& disk, const Entries& all) {
    std::vector<Partition> found;
    for (uint32_t i = 0; i < entries; ++i) {
        if (!all[i].used() || all[i].extended()) continue;
        found.push_back(disk.partition(i + 1, all[i].first, all[i].count));
    }
    for (const Entry& entry : all) {
        if (!entry.extended()) continue;
        if (!disk.holds(entry.first, entry.count)) {
            throw BadTable("the extended partition ends beyond the disk");
        }
        read_logical(disk, entry, found);
    }
    return found;
}

void check(std::vector<Partition>& partitions) {
    if (partitions.size() > partitions_max) {
        throw BadTable("more than " + std::to_string(partitions_max) + " partitions");
    }
    std::ranges::sort(partitions, {}, &Partition::first_byte);
    const auto overlap = std::ranges::adjacent_find(
        partitions,
        [](const Partition& one, const Partition& next) { return one.end() > next.first_byte; });
    if (overlap != partitions.end()) {
        throw BadTable("partitions " + std::to_string(overlap->number) + " and " +
                       std::to_string((overlap + 1)->number) + " overlap");
    }
}

std::vector<Partition> read_table(uint64_t size_bytes, uint32_t block_bytes, const ReadDisk& read) {
    assert(block_bytes > 0);
    const SectorReader small(size_bytes, small_sector_bytes, read);
    const SectorReader large(size_bytes, large_sector_bytes, read);
    const SectorReader& disk = block_bytes >= large_sector_bytes ? large : small;
    const SectorReader& other = &disk == &large ? small : large;
    if (disk.sectors() == 0) return {};
    std::vector<std::byte> sector(disk.sector_bytes());
    if (!read(0, sector) || load_le<uint16_t>(sector, magic_at) != magic) return {};
    const Entries all = entries_of(sector);
    if (!plausible(all)) return {};
    if (std::ranges::none_of(all, [](const Entry& entry) { return entry.type == type_gpt; })) {
        return read_mbr(disk, all);
    }
    return read_gpt(!has_gpt(disk) && has_gpt(other) ? other : disk);
}

}  // namespace

PartitionTable read_partition_table(uint64_t size_bytes, uint32_t block_bytes,
                                    const ReadDisk& read) try {
    auto partitions = read_table(size_bytes, block_bytes, read);
    check(partitions);
    return partitions;
} catch (const BadTable& bad) {
    return std::string(bad.what());
}

}  // namespace blkscope
