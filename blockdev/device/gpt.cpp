#include <algorithm>
#include <boost/crc.hpp>
#include <cassert>
#include <cstring>

#include "blockdev/device/table_reader.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

constexpr char signature[] = "EFI PART";
constexpr size_t signature_bytes = sizeof signature - 1;
constexpr uint32_t header_bytes_min = 92;
constexpr uint32_t entry_bytes_min = 128;
constexpr uint32_t entry_bytes_max = 4096;
constexpr uint64_t entries_bytes_max = uint64_t{1} << 20;
constexpr size_t header_crc_at = 16;
constexpr size_t type_bytes = 16;

uint32_t crc_of(std::span<const std::byte> bytes) {
    boost::crc_32_type crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

struct Header {
    uint64_t first_usable;
    uint64_t last_usable;
    uint64_t entries_at;  // a sector
    uint32_t entries;
    uint32_t entry_bytes;
    uint32_t entries_crc;
};

Header read_header(const SectorReader& disk) {
    std::vector<std::byte> sector = disk.read(1, 1);
    assert(sector.size() >= header_bytes_min);
    if (std::memcmp(sector.data(), signature, signature_bytes) != 0) {
        throw BadTable("a protective MBR, but no GPT");
    }
    const auto bytes = load_le<uint32_t>(sector, 12);
    if (bytes < header_bytes_min || bytes > sector.size()) {
        throw BadTable("the GPT header says that it has " + std::to_string(bytes) + " bytes");
    }
    const auto crc = load_le<uint32_t>(sector, header_crc_at);
    std::fill_n(sector.begin() + header_crc_at, sizeof crc, std::byte{0});
    if (crc_of(std::span(sector).first(bytes)) != crc) {
        throw BadTable("the CRC of the GPT header is wrong");
    }
    if (load_le<uint64_t>(sector, 24) != 1) throw BadTable("the GPT header is not in its place");
    return {.first_usable = load_le<uint64_t>(sector, 40),
            .last_usable = load_le<uint64_t>(sector, 48),
            .entries_at = load_le<uint64_t>(sector, 72),
            .entries = load_le<uint32_t>(sector, 80),
            .entry_bytes = load_le<uint32_t>(sector, 84),
            .entries_crc = load_le<uint32_t>(sector, 88)};
}

std::vector<std::byte> read_entries(const SectorReader& disk, const Header& header) {
    const uint32_t entry_bytes = header.entry_bytes;
    const bool power_of_two = (entry_bytes & (entry_bytes - 1)) == 0;
    if (entry_bytes < entry_bytes_min || entry_bytes > entry_bytes_max || !power_of_two) {
        throw BadTable("GPT entries of " + std::to_string(entry_bytes) + " bytes");
    }
    const uint64_t bytes = uint64_t{header.entries} * entry_bytes;
    if (bytes > entries_bytes_max) {
        throw BadTable("a GPT of " + std::to_string(header.entries) + " entries");
    }
    if (header.entries_at < 2) throw BadTable("the GPT entries overlap its header");
    const uint64_t sectors = (bytes + disk.sector_bytes() - 1) / disk.sector_bytes();
    std::vector<std::byte> entries = disk.read(header.entries_at, sectors);
    assert(entries.size() >= bytes);
    entries.resize(bytes);
    if (crc_of(entries) != header.entries_crc) {
        throw BadTable("the CRC of the GPT entries is wrong");
    }
    return entries;
}

}  // namespace

bool has_gpt(const SectorReader& disk) {
    if (!disk.holds(1, 1)) return false;
    return std::memcmp(disk.read(1, 1).data(), signature, signature_bytes) == 0;
}

std::vector<Partition> read_gpt(const SectorReader& disk) {
    const Header header = read_header(disk);
    const std::vector<std::byte> entries = read_entries(disk, header);
    assert(entries.size() == size_t{header.entries} * header.entry_bytes);
    std::vector<Partition> partitions;
    for (uint32_t i = 0; i < header.entries; ++i) {
        const auto entry =
            std::span(entries).subspan(size_t{i} * header.entry_bytes, header.entry_bytes);
        const auto type = entry.first(type_bytes);
        if (std::ranges::all_of(type, [](std::byte b) { return b == std::byte{0}; })) continue;
        const auto first = load_le<uint64_t>(entry, 32);
        const auto last =
            planted("gpt-of-32-bits") ? load_le<uint32_t>(entry, 40) : load_le<uint64_t>(entry, 40);
        if (first < header.first_usable || last > header.last_usable || first > last ||
            last >= disk.sectors()) {
            throw BadTable("GPT partition " + std::to_string(i + 1) +
                           " lies outside what the table may use");
        }
        partitions.push_back(disk.partition(i + 1, first, last - first + 1));
    }
    return partitions;
}

}  // namespace blkscope
