// A disk's bytes with a partition table written into them, as a partitioning program would.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace blkscope {

struct SectorRange {
    uint64_t first;  // sectors
    uint64_t count;
};

class DiskImage {
  public:
    explicit DiskImage(uint64_t bytes, uint32_t sector = 512) : bytes_(bytes), sector_(sector) {}

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
    std::vector<std::byte>& bytes() { return bytes_; }

    bool read(uint64_t offset, std::span<std::byte> to) const {
        if (offset > bytes_.size() || to.size() > bytes_.size() - offset) return false;
        std::memcpy(to.data(), bytes_.data() + offset, to.size());
        return true;
    }

    /// Stores a little-endian number.
    template <std::unsigned_integral T>
    void store(uint64_t at, T value) {
        for (size_t i = 0; i < sizeof(T); ++i) {
            bytes_.at(at + i) = static_cast<std::byte>(uint64_t{value} >> (8 * i));
        }
    }

    /// Writes an entry of the boot record in `sector`, and the record's magic.
    void boot_entry(uint64_t sector, size_t index, uint8_t type, SectorRange extent) {
        const uint64_t at = sector * sector_ + 446 + index * 16;
        store<uint8_t>(at + 4, type);
        store(at + 8, static_cast<uint32_t>(extent.first));
        store(at + 12, static_cast<uint32_t>(extent.count));
        store<uint16_t>(sector * sector_ + 510, 0xaa55);
    }

    void gpt(const std::vector<SectorRange>& partitions, uint32_t entries = 128,
             uint32_t entry_bytes = 128) {
        boot_entry(0, 0, 0xee, {1, bytes_.size() / sector_ - 1});
        const uint64_t table = uint64_t{2} * sector_;
        for (size_t i = 0; i < partitions.size(); ++i) {
            const uint64_t at = table + i * entry_bytes;
            store<uint64_t>(at, 0x4433221100000000 + i);  // any type
            store(at + 32, partitions[i].first);
            store(at + 40, partitions[i].first + partitions[i].count - 1);
        }
        std::memcpy(bytes_.data() + sector_, "EFI PART", 8);
        header<uint32_t>(8, 0x00010000);
        header<uint32_t>(12, 92);
        header<uint64_t>(24, 1);
        header<uint64_t>(40, 2 + (uint64_t{entries} * entry_bytes + sector_ - 1) / sector_);
        header<uint64_t>(48, bytes_.size() / sector_ - 34);
        header<uint64_t>(72, 2);
        header<uint32_t>(80, entries);
        header<uint32_t>(84, entry_bytes);
        sign_gpt();
    }

    /// Sets a field of the GPT header. sign_gpt() must be called after it.
    template <std::unsigned_integral T>
    void header(uint64_t at, T value) {
        store(sector_ + at, value);
    }

    /// Sets both CRCs; the CRC of the entries only if they lie on the disk.
    void sign_gpt() {
        const uint64_t table = uint64_t{2} * sector_;
        const uint64_t bytes = uint64_t{load(80)} * load(84);
        if (bytes <= bytes_.size() - table) header(88, crc32({bytes_.data() + table, bytes}));
        header<uint32_t>(16, 0);
        const uint32_t header_bytes = load(12) <= sector_ ? load(12) : 92;
        header(16, crc32({bytes_.data() + sector_, header_bytes}));
    }

  private:
    [[nodiscard]] uint32_t load(uint64_t at) const {
        uint32_t value = 0;
        for (size_t i = 4; i-- > 0;) {
            value = value << 8 | std::to_integer<uint32_t>(bytes_[sector_ + at + i]);
        }
        return value;
    }

    // Bit by bit, unlike the tested code.
    static uint32_t crc32(std::span<const std::byte> bytes) {
        uint32_t crc = 0xffffffff;
        for (const std::byte byte : bytes) {
            crc ^= std::to_integer<uint32_t>(byte);
            for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
        return ~crc;
    }

    std::vector<std::byte> bytes_;
    uint32_t sector_;
};

}  // namespace blkscope
