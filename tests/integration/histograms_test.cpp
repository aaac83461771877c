// The histograms of a real server as readers get them: complete, and in step with its other kstats.

#include <gtest/gtest.h>
#include <kstat2.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "served_device.hpp"
#include "tools/iostat/histogram_reader.hpp"

namespace blkscope::test {
namespace {

/// The tree of kstat2s, as one reader has it.
class Tree {
  public:
    Tree() { EXPECT_EQ(kstat2_open(&handle_, nullptr), KSTAT2_S_OK); }
    ~Tree() { kstat2_close(&handle_); }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    kstat2_handle_t get() {
        EXPECT_EQ(kstat2_update(handle_), KSTAT2_S_OK);
        return handle_;
    }

    bool has(const char* uri) {
        kstat2_map_t map = nullptr;
        return kstat2_lookup_map(get(), uri, &map) == KSTAT2_S_OK;
    }

    uint64_t integer(const char* uri, const char* name) {
        kstat2_map_t map = nullptr;
        kstat2_nv_t nv = nullptr;
        EXPECT_EQ(kstat2_lookup_map(get(), uri, &map), KSTAT2_S_OK) << uri;
        if (map == nullptr || kstat2_map_get(map, name, &nv) != KSTAT2_S_OK) {
            ADD_FAILURE() << "no " << name << " in " << uri;
            return 0;
        }
        EXPECT_EQ(nv->type, KSTAT2_NVVT_INT);
        return nv->kstat2_integer;
    }

  private:
    kstat2_handle_t handle_ = nullptr;
};

class ServedHistograms : public ServedDevice {
  protected:
    static iostat::Histograms read_histograms() {
        std::vector<iostat::Device> devices(1);
        devices[0].module = "nbd";
        devices[0].name = "nbd0";
        iostat::HistogramReader().read_into(devices);
        return devices[0].histograms;
    }

    void fio(const std::vector<std::string>& job) {
        std::vector<std::string> arguments{"fio",      "--name=job",    "--ioengine=nbd",
                                           "--thread", "--size=16M",    "--norandommap",
                                           "--bs=4k",  "--uri=" + uri()};
        arguments.insert(arguments.end(), job.begin(), job.end());
        succeed(arguments);
    }
};

TEST_F(ServedHistograms, HoldEveryRequestOnceWhateverItWas) {
    NEEDS("fio");
    serve(make_image("disk.img", 16 * mib), {"--queue-depth", "4"});
    fio({"--rw=randrw", "--iodepth=16", "--fsync=16", "--number_ios=3000", "--io_size=1G"});
    fio({"--rw=randtrim", "--bs=64k", "--iodepth=4", "--number_ios=100"});
    Client client(uri());
    ASSERT_EQ(nbd_zero(client.get(), 65536, 0, 0), 0);
    const iostat::Histograms histograms = read_histograms();
    for (const char* op : {"read", "write", "flush", "trim", "write_zeroes"}) {
        const uint64_t requests = read_command_count(std::string(op) + "_requests");
        EXPECT_GT(requests, 0u) << op;
        for (const char* phase : {"_receive", "_wait", "_service", "_total"}) {
            EXPECT_EQ(histograms.at(std::string(op) + phase).count(), requests) << op << phase;
        }
        // The client may have the answer before the server has counted it.
        EXPECT_TRUE(eventually([&] {
            return read_histograms().at(std::string(op) + "_reply").count() == requests;
        })) << op;
        if (std::string(op) == "flush") continue;
        EXPECT_EQ(histograms.at(std::string(op) + "_size").count(), requests) << op;
    }
    const kstat_io_t io = read_io();
    EXPECT_EQ(histograms.at("latency").count(), io.reads + io.writes);
    EXPECT_EQ(histograms.at("depth").count(), io.reads + io.writes);
    EXPECT_FALSE(histograms.contains("flush_size"));
}

// Two ways of counting the same stays: one integrates lengths, the other counts requests.
TEST_F(ServedHistograms, BracketTheTimesOfTheQueues) {
    NEEDS("fio");
    serve(make_image("disk.img", 16 * mib), {"--queue-depth", "4"});
    fio({"--rw=randrw", "--iodepth=16", "--number_ios=5000", "--io_size=1G"});
    const iostat::Histograms histograms = read_histograms();
    const kstat_io_t io = read_io();
    const std::pair<const char*, hrtime_t> phases[] = {{"wait", io.wlentime},
                                                       {"service", io.rlentime}};
    for (const auto& [phase, integral] : phases) {
        const auto both = iostat::of_transfers(histograms, phase);
        ASSERT_TRUE(both.has_value());
        double least = 0;
        double most = 0;
        for (uint32_t i = 0; i < both->counts.size(); ++i) {
            if (both->counts[i] == 0) continue;
            least +=
                static_cast<double>(both->counts[i]) * static_cast<double>(both->shape.lower(i));
            most += static_cast<double>(both->counts[i]) *
                    (static_cast<double>(both->shape.upper(i)) + 1);
        }
        EXPECT_LE(least, static_cast<double>(integral)) << phase;
        EXPECT_GE(most, static_cast<double>(integral)) << phase;
        ASSERT_TRUE(both->sum.has_value());
        EXPECT_NEAR(static_cast<double>(*both->sum), static_cast<double>(integral), 4) << phase;
    }
}

TEST_F(ServedHistograms, TheMapOfTheDeviceIsItsIoKstat) {
    serve("memory:1M");
    Client client(uri());
    for (int i = 0; i < 5; ++i) ASSERT_EQ(client.try_read(0, 4096), 0);
    ASSERT_EQ(client.try_write(0, 512), 0);
    const kstat_io_t io = read_io();
    const char* const map = "kstat:/disk/nbd/nbd0/0";
    Tree tree;
    EXPECT_EQ(tree.integer(map, "reads"), 5u);
    EXPECT_EQ(tree.integer(map, "writes"), 1u);
    EXPECT_EQ(tree.integer(map, "nread"), 5 * 4096u);
    EXPECT_EQ(tree.integer(map, "nwritten"), 512u);
    EXPECT_EQ(tree.integer(map, "rlentime"), static_cast<uint64_t>(io.rlentime));
    EXPECT_EQ(tree.integer(map, "wlentime"), static_cast<uint64_t>(io.wlentime));
    EXPECT_EQ(tree.integer(map, "rcnt"), 0u);
    EXPECT_GT(tree.integer(map, "snaptime"), tree.integer(map, "crtime"));
}

TEST_F(ServedHistograms, CanBeSwitchedOffAndOnAndBeginAtZero) {
    serve("memory:1M");
    Client client(uri());
    ASSERT_EQ(client.try_read(0, 4096), 0);
    EXPECT_EQ(read_histograms().at("read_total").count(), 1u);
    Tree tree;
    ASSERT_EQ(kstat2_optional_set_state(tree.get(), "blk:hist", KSTAT2_OPT_DISABLE), KSTAT2_S_OK);
    EXPECT_FALSE(tree.has("kstat:/disk/nbd/nbd0/0/read_total"));
    EXPECT_TRUE(tree.has("kstat:/disk/nbd/nbd0/0"));
    ASSERT_EQ(client.try_read(0, 4096), 0);
    ASSERT_EQ(kstat2_optional_set_state(tree.get(), "blk:hist", KSTAT2_OPT_DEFAULT), KSTAT2_S_OK);
    EXPECT_EQ(read_histograms().at("read_total").count(), 0u);
    ASSERT_EQ(client.try_read(0, 4096), 0);
    EXPECT_EQ(read_histograms().at("read_total").count(), 1u);
}

TEST_F(ServedHistograms, AreAbsentOnDemandUntilSomebodyWantsThem) {
    serve("memory:1M", {"--no-histograms"});
    EXPECT_TRUE(read_histograms().empty());
    const CommandResult table = run({IOSTAT_BINARY, "-w", "nbd0"});
    EXPECT_EQ(table.output, "nbd0               times -\n");
    Tree tree;
    ASSERT_EQ(kstat2_optional_set_state(tree.get(), "blk:hist", KSTAT2_OPT_ENABLE), KSTAT2_S_OK);
    EXPECT_FALSE(read_histograms().empty());
    ASSERT_EQ(kstat2_optional_set_state(tree.get(), "blk:hist", KSTAT2_OPT_DEFAULT), KSTAT2_S_OK);
    EXPECT_TRUE(read_histograms().empty());
}

TEST_F(ServedHistograms, AConfigurationSwitchesThemWhenItIsReadAgain) {
    const std::string config = path("lab.json");
    const auto write_config = [&](const char* histograms) {
        std::ofstream(config) << R"({"listen": ["unix:)" << socket_ << R"("], "histograms": )"
                              << histograms
                              << R"(, "exports": [{"name": "a", "backing": "memory:1M"}]})";
    };
    write_config("false");
    serve_with({"--config", config});
    EXPECT_TRUE(read_histograms().empty());
    write_config("true");
    server_->signal(SIGHUP);
    EXPECT_TRUE(eventually([] { return !read_histograms().empty(); }));
}

TEST_F(ServedHistograms, IostatShowsThemInEveryForm) {
    serve("memory:1M");
    Client client(uri());
    for (int i = 0; i < 20; ++i) ASSERT_EQ(client.try_read(0, 4096), 0);
    const std::string waits = succeed({IOSTAT_BINARY, "-w", "nbd0"});
    EXPECT_EQ(waits.rfind("nbd0 ", 0), 0u) << waits;
    EXPECT_NE(waits.find("          p99.9 "), std::string::npos) << waits;
    const std::string latency = succeed({IOSTAT_BINARY, "-L", "nbd0"});
    EXPECT_NE(latency.find("density"), std::string::npos) << latency;
    EXPECT_NE(latency.find("     100.00\n"), std::string::npos) << latency;
    const auto json = nlohmann::json::parse(succeed({IOSTAT_BINARY, "-jw", "nbd0"}));
    const auto& device = json["devices"][0];
    EXPECT_EQ(device["histograms"]["read_total"]["count"], 20);
    EXPECT_EQ(device["histograms"]["read_size"]["unit"], "bytes");
    EXPECT_GT(device["histograms"]["read_service"]["sum"], 0);
    EXPECT_GT(device["percentiles"]["total"]["p99_ns"], 0);
    EXPECT_GT(device["percentiles"]["receive"]["p99_ns"], 0);
    EXPECT_GT(device["percentiles"]["reply"]["p99_ns"], 0);  // the last answer may be missing
    EXPECT_NE(waits.find("receive"), std::string::npos) << waits;
    const std::string columns = succeed({IOSTAT_BINARY, "-xnqr", "nbd0"});
    EXPECT_NE(columns.find(",a_p99.9,device\n"), std::string::npos) << columns;
}

}  // namespace
}  // namespace blkscope::test
