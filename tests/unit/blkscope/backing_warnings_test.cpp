#include "tools/blkscope/backing_warnings.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "../temporary_folder.hpp"
#include "tools/blkscope/image_format.hpp"

namespace blkscope {
namespace {

constexpr uint64_t gib = uint64_t{1} << 30;
constexpr uint64_t endless = std::numeric_limits<uint64_t>::max();

std::vector<std::string> warnings(const std::vector<std::string>& backings, uint64_t room) {
    std::vector<ExportConfig> exports;
    exports.reserve(backings.size());
    for (const std::string& backing : backings) {
        exports.push_back({.name = "disk", .backing = backing});
    }
    return backing_warnings(exports, room);
}

std::string_view format(const std::string& head) {
    return image_format(head);
}

TEST(BackingWarnings, FormatsAreKnownByTheirSignature) {
    using namespace std::string_literals;
    EXPECT_EQ(format("QFI\xfb\0\0\0\3"s), "qcow2");
    EXPECT_EQ(format("QFI\xfb\0\0\0\1"s), "qcow");
    EXPECT_EQ(format("QED\0"s), "qed");
    EXPECT_EQ(format("KDMV\1"s), "vmdk");
    EXPECT_EQ(format("# Disk DescriptorFile\nversion=1"), "vmdk");
    EXPECT_EQ(format("vhdxfile"), "vhdx");
    EXPECT_EQ(format("conectix"), "vpc");
    EXPECT_EQ(format(std::string(64, '<') + "\x7f\x10\xda\xbe"), "vdi");
}

TEST(BackingWarnings, RawBytesHaveNoFormat) {
    for (const std::string& head : {std::string(), std::string("QFI"), std::string(68, '\0'),
                                    " QFI\xfb" + std::string(64, '\2')}) {
        EXPECT_EQ(format(head), "") << head;
    }
    EXPECT_EQ(image_format_of("/nonexistent"), "");
}

TEST(BackingWarnings, AnImageIsToldToBeServedRaw) {
    const test::TemporaryFolder folder;
    const std::string image = folder / "vm.img";
    const std::string raw = folder / "raw.img";
    std::ofstream(image) << "QFI\xfb" << std::string(508, '\2');
    std::ofstream(raw) << std::string(512, '\2');
    const auto lines = warnings({raw, image}, endless);
    ASSERT_EQ(lines.size(), 1u);
    const std::string to_do = "make the disk a device with 'qemu-nbd -f qcow2 -c /dev/nbdX " +
                              image + "', or a raw image with 'qemu-img convert -O raw'";
    EXPECT_EQ(lines[0], image +
                            " is a qcow2 image and is served as raw bytes; to serve the disk in "
                            "it, " +
                            to_do);
}

TEST(BackingWarnings, MemoryThatCannotBeHadIsToldOfAsAWhole) {
    EXPECT_TRUE(warnings({"memory:8G", "null:9999G"}, 8 * gib).empty());
    const auto lines = warnings({"memory:8G", "memory:4608M"}, 8 * gib);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0],
              "memory: 12.5 GiB are more than the 8.0 GiB of memory and swap that this process can "
              "have; the kernel ends the server when clients have written that much");
    const std::string most = "memory:8191P";
    EXPECT_THROW(warnings({most}, gib), std::invalid_argument);  // there is no P
    EXPECT_EQ(warnings({"memory:8388607T", "memory:8388607T", "memory:8388607T"}, gib).size(), 1u);
}

TEST(BackingWarnings, BytesBehindTheLastSectorAreCounted) {
    EXPECT_EQ(sector_warning(1000),
              "1000 bytes are not whole sectors of 512: attached to Linux, the disk ends after 512 "
              "bytes, and the last 488 are not there");
    EXPECT_EQ(sector_warning(511),
              "511 bytes are not whole sectors of 512: attached to Linux, the disk ends after 0 "
              "bytes, and the last 511 are not there");
    for (const uint64_t whole : {uint64_t{512}, gib}) EXPECT_EQ(sector_warning(whole), "");
}

}  // namespace
}  // namespace blkscope
