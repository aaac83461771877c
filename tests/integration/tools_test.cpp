// The programs of others as clients: what they list, copy, verify and measure is right.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

// Debian's own Python, which has Debian's libnbd; another may come first in the PATH.
constexpr const char* python_binary = "/usr/bin/python3";

#define NEEDS_PYTHON_NBD()                                    \
    if (run({python_binary, "-c", "import nbd"}).status != 0) \
    GTEST_SKIP() << "SKIPPED: " << python_binary << " has no nbd module; see tools/install-deps"

class Tools : public ServedDevice {
  protected:
    /// A file of bytes that are the same each time.
    std::string make_random_file(const std::string& name, uint64_t bytes) {
        std::mt19937_64 random(20260721);
        std::vector<uint64_t> words(bytes / sizeof(uint64_t));
        for (uint64_t& word : words) word = random();
        std::ofstream(path(name), std::ios::binary)
            .write(reinterpret_cast<const char*>(words.data()),
                   static_cast<std::streamsize>(bytes));
        return path(name);
    }

    bool same_bytes(const std::string& one, const std::string& other) {
        return run({"cmp", one, other}).status == 0;
    }

    /// Runs lines of Python with `nbd` imported; gives what they printed.
    std::string python(const std::string& lines) {
        return succeed({python_binary, "-c", "import nbd\nh = nbd.NBD()\n" + lines});
    }

    std::vector<std::string> fio(const std::vector<std::string>& job) {
        std::vector<std::string> arguments{"fio",      "--name=job",     "--ioengine=nbd",
                                           "--thread", "--uri=" + uri(), "--verify_state_save=0"};
        arguments.insert(arguments.end(), job.begin(), job.end());
        return arguments;
    }
};

// ---- libnbd's tools ----

TEST_F(Tools, NbdinfoSaysTheSizeAndWhatTheExportCan) {
    NEEDS("nbdinfo");
    serve(make_image("disk.img", 3 * mib));
    EXPECT_EQ(succeed({"nbdinfo", "--size", uri()}), std::to_string(3 * mib) + "\n");
    const auto info = nlohmann::json::parse(succeed({"nbdinfo", "--json", uri("disk.img")}));
    const auto& exp = info["exports"][0];
    EXPECT_EQ(info["protocol"], "newstyle-fixed");
    EXPECT_EQ(exp["export-name"], "disk.img");
    EXPECT_EQ(exp["export-size"], 3 * mib);
    EXPECT_EQ(exp["is_read_only"], false);
    for (const char* can : {"can_cache", "can_df", "can_fast_zero", "can_flush", "can_fua",
                            "can_multi_conn", "can_trim", "can_zero"}) {
        EXPECT_EQ(exp[can], true) << can;
    }
    EXPECT_EQ(exp["contexts"], nlohmann::json::parse(R"(["base:allocation"])"));
    EXPECT_EQ(exp["description"], "nbd0: " + path("disk.img"));
    EXPECT_EQ(exp["block_size_minimum"], 1);
    EXPECT_EQ(exp["block_size_preferred"], 4096);
    EXPECT_EQ(exp["block_size_maximum"], 32 * mib);
}

TEST_F(Tools, NbdinfoListsEveryExportOverTcp) {
    NEEDS("nbdinfo");
    make_image("disk.img", mib);
    const std::string server = serve_tcp(path("disk.img"));
    EXPECT_EQ(succeed({"nbdinfo", "--size", server}), std::to_string(mib) + "\n");
    const auto list = nlohmann::json::parse(succeed({"nbdinfo", "--list", "--json", server}));
    ASSERT_EQ(list["exports"].size(), 1u);
    EXPECT_EQ(list["exports"][0]["export-name"], "disk.img");
    EXPECT_EQ(list["exports"][0]["export-size"], mib);
    EXPECT_EQ(server_->output(), "nbd0 " + server + "/disk.img\n");
}

// A file, a file past the page cache, and memory. An image is copied to each over four connections,
// and copied back.
class Copy : public Tools, public ::testing::WithParamInterface<const char*> {};

TEST_P(Copy, NbdcopyBringsAnImageThereAndBack) {
    NEEDS("nbdcopy");
    const std::string kind = GetParam();
    const std::string in = make_random_file("in.img", 40 * mib);
    const std::string backing = kind == "memory" ? "memory:40M" : make_image("disk.img", 40 * mib);
    serve(backing,
          kind == "direct" ? std::vector<std::string>{"--direct"} : std::vector<std::string>{});
    succeed({"nbdcopy", "--connections=4", "--requests=64", "--threads=4", "--flush", in, uri()});
    EXPECT_EQ(read_command_count("connections_total"), 4u);
    EXPECT_EQ(read_command_count("write_bytes"), 40 * mib);
    EXPECT_GE(read_command_count("flush_requests"), 1u);
    EXPECT_TRUE(kind == "memory" || same_bytes(in, backing));
    succeed({"nbdcopy", "--connections=4", "--requests=64", uri(), path("out.img")});
    EXPECT_TRUE(same_bytes(in, path("out.img")));
    succeed({"nbdcopy", "--request-size=" + std::to_string(32 * mib), uri(), path("large.img")});
    EXPECT_TRUE(same_bytes(in, path("large.img")));
}

INSTANTIATE_TEST_SUITE_P(Backings, Copy, ::testing::Values("file", "direct", "memory"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(Tools, NbdcopyCopiesOneExportToAnother) {
    NEEDS("nbdcopy");
    const std::string in = make_random_file("in.img", 16 * mib);
    serve("from=" + in, {"to=memory:16M"});
    succeed({"nbdcopy", uri("from"), uri("to")});
    succeed({"nbdcopy", uri("to"), path("out.img")});
    EXPECT_TRUE(same_bytes(in, path("out.img")));
    EXPECT_EQ(read_io("nbd0").nread, 16 * mib);
    EXPECT_EQ(read_io("nbd1").nread, 16 * mib);
}

TEST_F(Tools, PythonHagglesStepByStep) {
    NEEDS_PYTHON_NBD();
    serve("one=memory:1M", {"two=memory:2M"});
    const std::string said = python("h.set_opt_mode(True)\nh.connect_uri('" + uri() + R"(')
names = []
h.opt_list(lambda name, description: names.append(name) or 0)
print(sorted(names))
h.set_export_name('two')
h.opt_info()
print(h.get_size())
h.set_export_name('one')
h.opt_go()
print(h.get_size(), h.aio_is_ready())
h.pwrite(b'x' * 512, 0)
print(h.pread(512, 0) == b'x' * 512)
h.shutdown())");
    EXPECT_EQ(said, "['one', 'two']\n2097152\n1048576 True\nTrue\n");
}

TEST_F(Tools, AClientThatKnowsOnlyExportNameIsServed) {
    NEEDS_PYTHON_NBD();
    serve("memory:1M");
    const std::string said = python("h.set_handshake_flags(0)\nh.connect_uri('" + uri() + R"(')
print(h.get_protocol(), h.get_size(), h.can_flush(), h.can_trim())
h.pwrite(b'y' * 4096, 8192)
h.flush()
print(h.pread(4096, 8192) == b'y' * 4096, h.pread(16, 0) == bytes(16))
h.shutdown())");
    EXPECT_EQ(said, "newstyle 1048576 True True\nTrue True\n");
}

// ---- QEMU's tools ----

TEST_F(Tools, QemuImgConvertsComparesAndTellsTheSize) {
    NEEDS("qemu-img");
    const std::string in = make_random_file("in.img", 16 * mib);
    serve(make_image("disk.img", 16 * mib));
    const auto info = nlohmann::json::parse(succeed({"qemu-img", "info", "--output=json", uri()}));
    EXPECT_EQ(info["virtual-size"], 16 * mib);
    succeed({"qemu-img", "convert", "-n", "-m", "16", "-W", "-f", "raw", "-O", "raw", in, uri()});
    succeed({"qemu-img", "compare", "-f", "raw", "-F", "raw", in, uri()});
    EXPECT_TRUE(same_bytes(in, path("disk.img")));
    ASSERT_EQ(Client(uri()).try_write(8 * mib, 1), 0);
    EXPECT_EQ(run({"qemu-img", "compare", "-f", "raw", "-F", "raw", in, uri()}).status, 1);
}

TEST_F(Tools, QemuImgBenchReadsAndWritesAsManyAsItSays) {
    NEEDS("qemu-img");
    serve(make_image("disk.img", 16 * mib));
    const std::vector<std::string> bench{"qemu-img", "bench", "-f", "raw", "-c",
                                         "2000",     "-d",    "16", "-s",  "4096"};
    std::vector<std::string> reads = bench;
    reads.push_back(uri());
    succeed(reads);
    std::vector<std::string> writes = bench;
    writes.insert(writes.end(), {"-w", "--flush-interval=100", uri()});
    succeed(writes);
    EXPECT_EQ(read_command_count("write_requests"), 2000u);
    EXPECT_GE(read_command_count("read_requests"), 2000u);  // and qemu looks for a format
    EXPECT_GE(read_command_count("flush_requests"), 2000u / 100);
}

TEST_F(Tools, QemuIoSpeaksEveryCommandWithItsFlags) {
    NEEDS("qemu-io");
    for (const bool direct : {false, true}) {
        const std::string image = make_image("disk.img", 4 * mib);
        serve(image, direct ? std::vector<std::string>{"--direct"} : std::vector<std::string>{});
        const std::string said = succeed({"qemu-io", "-f",
                                          "raw",     uri(),
                                          "-c",      "write -P 0xab 4k 64k",
                                          "-c",      "read -P 0xab 4k 64k",
                                          "-c",      "write -f -P 9 0 4k",
                                          "-c",      "read -P 9 0 4k",
                                          "-c",      "discard 64k 64k",
                                          "-c",      "read -P 0 68k 60k",
                                          "-c",      "write -P 5 256k 256k",
                                          "-c",      "write -z 256k 64k",
                                          "-c",      "write -z -u 320k 64k",
                                          "-c",      "write -z -u -n 384k 4k",
                                          "-c",      "write -z -f 388k 4k",
                                          "-c",      "read -P 0 256k 136k",
                                          "-c",      "read -P 5 392k 120k",
                                          "-c",      "map",
                                          "-c",      "flush",
                                          "-c",      "aio_write -P 7 1M 1M",
                                          "-c",      "aio_flush",
                                          "-c",      "aio_read -P 7 1M 1M",
                                          "-c",      "aio_flush"});
        EXPECT_EQ(said.find("failed"), std::string::npos) << said;
        EXPECT_EQ(read_command_count("trim_bytes"), 64u << 10);
        EXPECT_GE(read_command_count("flush_requests"), 1u);
        EXPECT_EQ(read_command_count("write_requests"), 4u);
        EXPECT_EQ(read_command_count("write_zeroes_requests"), 4u);
        EXPECT_GE(read_command_count("block_status_requests"), 1u);
        EXPECT_EQ(stop_server(), 0);
    }
}

// ---- fio, nbdkit ----

TEST_F(Tools, FioFindsEveryBlockAsItWroteIt) {
    NEEDS("fio");
    const std::vector<std::string> options[] = {{}, {"--direct"}};
    for (const auto& with : options) {
        serve(make_image("disk.img", 16 * mib), with);
        succeed(
            fio({"--rw=randrw", "--bs=4k", "--iodepth=32", "--size=8M", "--numjobs=2",
                 "--offset_increment=8M", "--verify=crc32c", "--do_verify=1", "--verify_fatal=1"}));
        const kstat_io_t io = read_io();
        EXPECT_GT(io.writes, 0u);
        EXPECT_GE(io.nread, 16 * mib);  // every block is read, some twice
        EXPECT_EQ(stop_server(), 0);
    }
}

TEST_F(Tools, FioFindsEveryBlockInMemoryToo) {
    NEEDS("fio");
    serve("memory:16M", {"--queue-depth", "8"});
    succeed(fio({"--rw=randwrite", "--bsrange=512-64k", "--iodepth=32", "--size=16M",
                 "--verify=crc32c", "--do_verify=1", "--verify_fatal=1"}));
    EXPECT_EQ(read_io().nwritten, 16 * mib);
}

TEST_F(Tools, FioTrimsTheWholeDevice) {
    NEEDS("fio");
    const std::string image = make_random_file("disk.img", 16 * mib);
    serve(image);
    succeed(fio({"--rw=randtrim", "--bs=64k", "--iodepth=8", "--size=16M"}));
    EXPECT_EQ(read_command_count("trim_requests"), 256u);
    EXPECT_EQ(read_command_count("trim_bytes"), 16 * mib);
    EXPECT_TRUE(same_bytes(image, make_image("zeroes.img", 16 * mib)));
}

TEST_F(Tools, NbdkitIsAClientThatOthersStandBehind) {
    NEEDS("nbdkit");
    NEEDS("nbdcopy");
    const std::string in = make_random_file("in.img", 16 * mib);
    serve("memory:16M");
    Process nbdkit({"nbdkit", "-f", "-P", path("nbdkit.pid"), "-U", path("proxy"), "nbd",
                    "uri=" + uri(), "shared=true"},
                   path("nbdkit.log"));
    ASSERT_TRUE(eventually([&] {  // nbdkit writes its process id when it is ready
        return std::filesystem::exists(path("nbdkit.pid")) || !nbdkit.running();
    }));
    ASSERT_TRUE(nbdkit.running()) << nbdkit.output();
    succeed({"nbdcopy", "--connections=4", "--requests=64", "--flush", in, uri_at("proxy")});
    succeed({"nbdcopy", uri_at("proxy"), path("out.img")});
    EXPECT_TRUE(same_bytes(in, path("out.img")));
    EXPECT_EQ(read_command_count("connections"), 1u);
    nbdkit.signal(SIGTERM);
    EXPECT_EQ(nbdkit.wait(), 0) << nbdkit.output();
}

}  // namespace
}  // namespace blkscope::test
