// Feeds any disk to the reader of partition tables.
//
// The first byte says how large the disk and its sectors are. Behind it are the first bytes of each sector, 512 of each,
// and all others are zero. If the first byte is odd, the checksums of a GPT are made right first, as an attacker would.
//
// Every read lies on the disk, and all reads together have a limit. The partitions of an accepted table lie on the
// disk, in their order, and do not overlap. A table is the same when it is read again. A refused one has a reason.
// Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include "blockdev/device/partition_table.hpp"

#include <algorithm>
#include <boost/crc.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "require.hpp"

namespace {

using namespace blkscope;

constexpr size_t chunk_bytes = 512;
// A GPT's entries, the sectors of its header, and the chains of four extended partitions.
constexpr uint64_t read_bytes_max = (uint64_t{1} << 20) + 4096 * (4 + 4 * partitions_max);

class Disk {
  public:
    Disk(uint64_t size_bytes, uint32_t sector_bytes, std::string chunks)
        : size_bytes_(size_bytes), sector_bytes_(sector_bytes), chunks_(std::move(chunks)) {}

    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

    bool read(uint64_t offset, std::span<std::byte> to) {
        require(offset <= size_bytes_ && to.size() <= size_bytes_ - offset);
        read_bytes_ += to.size();
        require(read_bytes_ <= read_bytes_max);
        std::ranges::fill(to, std::byte{0});
        for (size_t at = 0; at < to.size();) {
            const uint64_t place = offset + at;
            const uint64_t in_sector = place % sector_bytes_;
            const size_t step = std::min<uint64_t>(sector_bytes_ - in_sector, to.size() - at);
            copy_chunk(place / sector_bytes_, in_sector, to.subspan(at, step));
            at += step;
        }
        return true;
    }

    // Sets the checksums of the header in sector 1 and of its entries.
    void make_right() {
        char* const header = chunk(1);
        if (header == nullptr) return;
        const auto entries_at = number<uint64_t>(header + 72);
        const uint64_t bytes =
            uint64_t{number<uint32_t>(header + 80)} * number<uint32_t>(header + 84);
        if (bytes <= chunks_.size() && entries_at <= size_bytes_ / sector_bytes_) {
            std::vector<std::byte> entries(bytes);
            const uint64_t room = size_bytes_ - entries_at * sector_bytes_;
            if (bytes <= room) read(entries_at * sector_bytes_, entries);
            put_crc(header + 88, entries.data(), bytes);
        }
        std::memset(header + 16, 0, sizeof(uint32_t));
        const size_t header_bytes = std::min<size_t>(number<uint32_t>(header + 12), chunk_bytes);
        put_crc(header + 16, header, header_bytes);
        read_bytes_ = 0;
    }

    void forget_reads() { read_bytes_ = 0; }

  private:
    char* chunk(uint64_t sector) {
        const bool whole = sector < chunks_.size() / chunk_bytes;
        return whole ? chunks_.data() + sector * chunk_bytes : nullptr;
    }

    void copy_chunk(uint64_t sector, uint64_t in_sector, std::span<std::byte> to) {
        const char* const from = chunk(sector);
        if (from == nullptr || in_sector >= chunk_bytes) return;
        std::memcpy(to.data(), from + in_sector, std::min(to.size(), chunk_bytes - in_sector));
    }

    template <class T>
    static T number(const char* from) {
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }

    static void put_crc(char* to, const void* from, size_t bytes) {
        boost::crc_32_type crc;
        crc.process_bytes(from, bytes);
        const uint32_t sum = crc.checksum();
        std::memcpy(to, &sum, sizeof sum);
    }

    uint64_t size_bytes_;
    uint64_t sector_bytes_;
    std::string chunks_;
    uint64_t read_bytes_ = 0;
};

void check(const std::vector<Partition>& partitions, uint64_t size_bytes) {
    require(partitions.size() <= partitions_max);
    std::set<uint32_t> numbers;
    uint64_t end = 0;
    for (const Partition& one : partitions) {
        require(one.bytes > 0 && one.first_byte >= end);
        require(one.first_byte <= size_bytes && one.bytes <= size_bytes - one.first_byte);
        require(one.first_byte % 512 == 0 && one.bytes % 512 == 0);
        require(one.number > 0 && numbers.insert(one.number).second);
        end = one.end();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const uint32_t sector_bytes = (data[0] & 2) != 0 ? 4096 : 512;
    const uint32_t block_bytes = (data[0] & 4) != 0 ? 4096 : 1;
    const uint64_t size_bytes = uint64_t{777} << (data[0] >> 3);
    Disk disk(size_bytes, sector_bytes, {reinterpret_cast<const char*>(data) + 1, size - 1});
    if (data[0] % 2 == 1) disk.make_right();
    const auto read = [&](uint64_t offset, std::span<std::byte> to) {
        return disk.read(offset, to);
    };
    const PartitionTable table = read_partition_table(size_bytes, block_bytes, read);
    if (table) check(*table, size_bytes);
    if (!table) require(!table.error().empty() && table.error().find('\n') == std::string::npos);
    disk.forget_reads();
    const PartitionTable again = read_partition_table(size_bytes, block_bytes, read);
    require(again.has_value() == table.has_value() && (!table || *again == *table));
    const auto fails = [](uint64_t, std::span<std::byte>) { return false; };
    require(read_partition_table(size_bytes, block_bytes, fails)->empty());
    return 0;
}
