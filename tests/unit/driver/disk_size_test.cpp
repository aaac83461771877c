#include "driver/attach/disk_size.hpp"

#include <gtest/gtest.h>

#include <string>

namespace blkscope {
namespace {

// A disk of so many sectors, as the kernel counts, with blocks of so many bytes.
DeviceTerms disk_of(uint64_t sectors, uint64_t block_bytes) {
    return {.size_bytes = sectors * 512, .block_bytes = block_bytes};
}

TEST(DiskSize, ADiskWithAllBytesOfItsExportDiffersInNothing) {
    EXPECT_EQ(size_difference(1'048'576, disk_of(2048, 512)), "");
    EXPECT_EQ(size_difference(1'048'576, disk_of(2048, 4096)), "");
}

TEST(DiskSize, TheBytesBehindTheLastSectorAreCounted) {
    EXPECT_EQ(size_difference(1'048'876, disk_of(2048, 512)),
              "the disk ends after 1048576 of the export's 1048876 bytes: the kernel uses whole "
              "sectors, and not the last 300 bytes");
    EXPECT_EQ(size_difference(300, disk_of(0, 512)),
              "the disk ends after 0 of the export's 300 bytes: the kernel uses whole sectors, and "
              "not the last 300 bytes");
}

TEST(DiskSize, SectorsBehindTheLastBlockAreCounted) {
    const std::string half =
        "the disk's last 512 bytes are not a whole block of 4096, and direct access does not reach "
        "them";
    EXPECT_EQ(size_difference(1'049'088, disk_of(2049, 4096)), half);
    EXPECT_EQ(size_difference(1'049'388, disk_of(2049, 4096)),
              "the disk ends after 1049088 of the export's 1049388 bytes: the kernel uses whole "
              "sectors, and not the last 300 bytes; " +
                  half);
}

TEST(DiskSize, ADiskBeyondItsExportIsToldOf) {
    EXPECT_EQ(size_difference(1'048'576, disk_of(4096, 512)),
              "the export has 1048576 bytes and the disk 2097152: the last 1048576 are not there");
}

}  // namespace
}  // namespace blkscope
