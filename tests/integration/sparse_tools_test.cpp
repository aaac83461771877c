// Sparse images and the programs of others: what is a hole on one side is one on the other.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

class SparseTools : public ServedDevice {
  protected:
    /// 64 MiB, of which the MiBs 8 to 11 and 40 are data.
    std::string make_sparse_file(const std::string& name) {
        make_image(name, 64 * mib);
        std::fstream file(path(name), std::ios::binary | std::ios::in | std::ios::out);
        for (const uint64_t at : {8u, 9u, 10u, 11u, 40u}) {
            file.seekp(static_cast<std::streamoff>(at * mib));
            file << std::string(mib, static_cast<char>('a' + at % 26));
        }
        return path(name);
    }

    uint64_t allocated_bytes(const std::string& of) {
        struct stat info {};
        EXPECT_EQ(stat(of.c_str(), &info), 0);
        return static_cast<uint64_t>(info.st_blocks) * 512;
    }

    void expect_same(const std::string& one, const std::string& other) {
        EXPECT_EQ(run({"cmp", one, other}).status, 0);
        // A file system may round a hole to its own blocks.
        EXPECT_NEAR(static_cast<double>(allocated_bytes(one)),
                    static_cast<double>(allocated_bytes(other)), 65536);
    }
};

const nlohmann::json map_of_sparse_file = nlohmann::json::parse(R"([
    {"offset": 0, "length": 8388608, "type": 3},
    {"offset": 8388608, "length": 4194304, "type": 0},
    {"offset": 12582912, "length": 29360128, "type": 3},
    {"offset": 41943040, "length": 1048576, "type": 0},
    {"offset": 42991616, "length": 24117248, "type": 3}])");

TEST_F(SparseTools, NbdinfoMapsAFile) {
    NEEDS("nbdinfo");
    serve(make_sparse_file("disk.img"));
    auto map = nlohmann::json::parse(succeed({"nbdinfo", "--map", "--json", uri()}));
    for (auto& extent : map) extent.erase("description");
    EXPECT_EQ(map, map_of_sparse_file);
    auto totals = nlohmann::json::parse(succeed({"nbdinfo", "--map", "--totals", "--json", uri()}));
    ASSERT_EQ(totals.size(), 2u);
    EXPECT_EQ(totals[0]["size"], 5 * mib);
    EXPECT_EQ(totals[1]["size"], 59 * mib);
}

TEST_F(SparseTools, NbdcopyKeepsASparseFileSparseBothWays) {
    NEEDS("nbdcopy");
    const std::string in = make_sparse_file("in.img");
    const std::string served = make_image("disk.img", 64 * mib);
    serve(served);
    succeed({"nbdcopy", "--connections=4", "--flush", in, uri()});
    expect_same(in, served);
    EXPECT_LE(read_command_count("write_bytes"), 5 * mib);
    succeed({"nbdcopy", "--connections=4", uri(), path("out.img")});
    expect_same(in, path("out.img"));
    EXPECT_EQ(read_command_count("read_bytes"), 5 * mib);
}

TEST_F(SparseTools, NbdcopyOverOldDataLeavesHolesWhereTheyWere) {
    NEEDS("nbdcopy");
    const std::string in = make_sparse_file("in.img");
    const std::string served = make_image("disk.img", 64 * mib);
    std::ofstream(served, std::ios::binary) << std::string(64 * mib, 'o');
    serve(served);
    succeed({"nbdcopy", "--flush", in, uri()});
    expect_same(in, served);
    EXPECT_EQ(read_command_count("write_zeroes_errors"), 0u);
}

TEST_F(SparseTools, NbdcopyAllocatedProvisionsAll) {
    NEEDS("nbdcopy");
    const std::string in = make_sparse_file("in.img");
    const std::string served = make_image("disk.img", 64 * mib);
    serve(served);
    succeed({"nbdcopy", "--allocated", in, uri()});
    EXPECT_EQ(run({"cmp", in, served}).status, 0);
    EXPECT_GE(allocated_bytes(served), 64 * mib);
}

TEST_F(SparseTools, MemoryIsAsSparseAsWhatWasCopiedIntoIt) {
    NEEDS("nbdcopy");
    NEEDS("nbdinfo");
    const std::string in = make_sparse_file("in.img");
    serve("memory:64M");
    succeed({"nbdcopy", in, uri()});
    auto map = nlohmann::json::parse(succeed({"nbdinfo", "--map", "--json", uri()}));
    for (auto& extent : map) extent.erase("description");
    EXPECT_EQ(map, map_of_sparse_file);
    succeed({"nbdcopy", uri(), path("out.img")});
    expect_same(in, path("out.img"));
}

TEST_F(SparseTools, QemuImgMapsAndConvertsBothWaysSparsely) {
    NEEDS("qemu-img");
    const std::string in = make_sparse_file("in.img");
    const std::string served = make_image("disk.img", 64 * mib);
    serve(served);
    succeed({"qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", in, uri()});
    expect_same(in, served);
    succeed({"qemu-img", "compare", "-f", "raw", "-F", "raw", in, uri()});
    succeed({"qemu-img", "convert", "-f", "raw", "-O", "raw", uri(), path("out.img")});
    expect_same(in, path("out.img"));
    const auto map =
        nlohmann::json::parse(succeed({"qemu-img", "map", "--output=json", "--image-opts",
                                       "driver=raw,file.driver=nbd,file.path=" + socket_}));
    ASSERT_EQ(map.size(), map_of_sparse_file.size());
    for (size_t i = 0; i < map.size(); ++i) {
        EXPECT_EQ(map[i]["start"], map_of_sparse_file[i]["offset"]);
        EXPECT_EQ(map[i]["length"], map_of_sparse_file[i]["length"]);
        EXPECT_EQ(map[i]["data"], map_of_sparse_file[i]["type"] == 0);
        EXPECT_EQ(map[i]["zero"], map_of_sparse_file[i]["type"] == 3);
    }
}

TEST_F(SparseTools, HolesAreTheSameThroughNbdkit) {
    NEEDS("nbdkit");
    NEEDS("nbdinfo");
    serve(make_sparse_file("disk.img"));
    Process nbdkit(
        {"nbdkit", "-f", "-P", path("nbdkit.pid"), "-U", path("proxy"), "nbd", "uri=" + uri()},
        path("nbdkit.log"));
    ASSERT_TRUE(eventually(
        [&] { return std::filesystem::exists(path("nbdkit.pid")) || !nbdkit.running(); }));
    auto map = nlohmann::json::parse(succeed({"nbdinfo", "--map", "--json", uri_at("proxy")}));
    for (auto& extent : map) extent.erase("description");
    EXPECT_EQ(map, map_of_sparse_file);
    nbdkit.signal(SIGTERM);
    EXPECT_EQ(nbdkit.wait(), 0) << nbdkit.output();
}

}  // namespace
}  // namespace blkscope::test
