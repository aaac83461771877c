#include <algorithm>
#include <boost/crc.hpp>
#include <cassert>
#include <cstring>
#include <string_view>
#include <vector>

#include "boot.hpp"

// Source: UEFI specification 2.10, chapter 5, for both kinds of tables.
namespace blkscope::simulation {
namespace {

constexpr uint64_t table_sector = 512;
constexpr size_t mbr_entries_at = 446;
constexpr size_t mbr_entry_bytes = 16;
constexpr size_t mbr_signature_at = 510;
constexpr size_t gpt_header_bytes = 92;
constexpr size_t gpt_entry_bytes = 128;
constexpr size_t gpt_entries = 4;

using Sector = std::vector<std::byte>;

void put_little(Sector& sector, size_t at, uint64_t number, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) sector.at(at + i) = std::byte(number >> (8 * i) & 0xff);
}

void put_mbr_entry(Sector& sector, size_t index, uint8_t type, uint64_t first, uint64_t sectors) {
    const size_t entry = mbr_entries_at + index * mbr_entry_bytes;
    put_little(sector, entry + 4, type, 1);
    put_little(sector, entry + 8, first, 4);
    put_little(sector, entry + 12, sectors, 4);
}

uint32_t crc_of(const Sector& sector, size_t bytes) {
    boost::crc_32_type crc;
    crc.process_bytes(sector.data(), bytes);
    return crc.checksum();
}

Sector make_mbr(const ExportPlan& plan) {
    constexpr uint8_t linux_type = 0x83;
    constexpr uint8_t protective_type = 0xee;
    Sector sector(table_sector);
    put_little(sector, mbr_signature_at, 0xaa55, 2);
    if (plan.gpt) {
        put_mbr_entry(sector, 0, protective_type, 1, 0xffffffff);
        return sector;
    }
    for (size_t i = 0; i < plan.partitions.size(); ++i) {
        const Share& share = plan.partitions[i];
        put_mbr_entry(sector, i, linux_type, share.first_byte / table_sector,
                      (share.end_byte - share.first_byte) / table_sector);
    }
    return sector;
}

Sector make_gpt_entries(const ExportPlan& plan) {
    constexpr uint64_t linux_data_type = 0x0fc63daf;  // the rest of it does not matter
    Sector sector(table_sector);
    for (size_t i = 0; i < plan.partitions.size(); ++i) {
        const size_t entry = i * gpt_entry_bytes;
        put_little(sector, entry, linux_data_type, 4);
        put_little(sector, entry + 16, i + 1, 8);
        put_little(sector, entry + 32, plan.partitions[i].first_byte / table_sector, 8);
        put_little(sector, entry + 40, plan.partitions[i].end_byte / table_sector - 1, 8);
    }
    return sector;
}

Sector make_gpt_header(const ExportPlan& plan, const Sector& entries) {
    constexpr std::string_view signature = "EFI PART";
    Sector sector(table_sector);
    std::memcpy(sector.data(), signature.data(), signature.size());
    put_little(sector, 8, 0x10000, 4);
    put_little(sector, 12, gpt_header_bytes, 4);
    put_little(sector, 24, 1, 8);  // its own place
    put_little(sector, 40, table_bytes / table_sector, 8);
    put_little(sector, 48, plan.bytes / table_sector - 1, 8);
    put_little(sector, 72, 2, 8);  // the entries' place
    put_little(sector, 80, gpt_entries, 4);
    put_little(sector, 84, gpt_entry_bytes, 4);
    put_little(sector, 88, crc_of(entries, gpt_entries * gpt_entry_bytes), 4);
    put_little(sector, 16, crc_of(sector, gpt_header_bytes), 4);
    return sector;
}

}  // namespace

void write_table(const ExportPlan& plan, Image& content) {
    if (plan.partitions.empty()) return;
    assert(std::ranges::all_of(plan.partitions, [&](const Share& share) {
        return share.first_byte >= table_bytes && share.end_byte <= content.bytes();
    }));
    assert(plan.partitions.size() <= gpt_entries);
    content.write(0, make_mbr(plan));
    if (!plan.gpt) return;
    const Sector entries = make_gpt_entries(plan);
    content.write(table_sector, make_gpt_header(plan, entries));
    content.write(2 * table_sector, entries);
}

}  // namespace blkscope::simulation
