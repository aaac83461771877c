// Slow, limited and failing devices, as clients and readers of kstats see them.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

class ModelledDevice : public ServedDevice {
  protected:
    /// The mean milliseconds of all reads so far: in the wait queue, and in the run queue.
    double mean_wait_ms() {
        const kstat_io_t io = read_io();
        return static_cast<double>(io.wlentime) / 1e6 / io.reads;
    }
    double mean_service_ms() {
        const kstat_io_t io = read_io();
        return static_cast<double>(io.rlentime) / 1e6 / io.reads;
    }
};

TEST_F(ModelledDevice, AModelsTimeIsServiceAndALimitsIsWait) {
    serve("memory:1M", {"--model", "read=const:80ms", "--limit", "read_iops=5"});
    Client client(uri());
    for (int i = 0; i < 10; ++i) ASSERT_EQ(client.try_read(0, 512), 0);
    // The model's time begins when the tokens were there, so a late start does not add to it.
    EXPECT_GT(mean_service_ms(), 72);
    EXPECT_LT(mean_service_ms(), 150);
    EXPECT_GT(mean_wait_ms(), 40);  // 200 ms from start to start, 80 ms of it in service
    EXPECT_LT(mean_wait_ms(), 200);
}

TEST_F(ModelledDevice, AFaultIsTheClientsErrorAndAnotherExportHasNone) {
    serve("a=memory:1M", {"b=memory:1M", "--fault", "a@write:error=ENOSPC;sectors=8-15;count=2"});
    Client a(uri("a"));
    Client b(uri("b"));
    EXPECT_EQ(a.try_write(0, 4096), 0);
    EXPECT_EQ(a.try_write(4096, 4096), ENOSPC);
    EXPECT_EQ(b.try_write(4096, 4096), 0);
    EXPECT_EQ(a.try_write(0, 8192), ENOSPC);
    EXPECT_EQ(a.try_write(4096, 4096), 0);
}

TEST_F(ModelledDevice, TheSeedOfALogRepeatsTheFaults) {
    const auto faults = [&](const std::vector<std::string>& more) {
        std::vector<std::string> options{"--fault", "read:error=EIO;chance=1/3"};
        options.insert(options.end(), more.begin(), more.end());
        serve("memory:1M", options);
        Client client(uri());
        std::string seen;
        for (int i = 0; i < 100; ++i) seen += client.try_read(0, 512) == 0 ? '.' : 'E';
        return seen;
    };
    const std::string first = faults({});
    const std::string log = server_->output();
    const size_t at = log.find("blkscope: nbd0: fault read:error=EIO;chance=1/3, seed ");
    ASSERT_NE(at, std::string::npos) << log;
    const size_t seed = log.find("seed ", at) + 5;
    stop_server();
    EXPECT_EQ(faults({"--seed", log.substr(seed, log.find('\n', seed) - seed)}), first);
    stop_server();
    EXPECT_NE(faults({}), first);
}

TEST_F(ModelledDevice, TheFileHasModelsToo) {
    std::ofstream(path("lab.json")) << R"({"listen": ["unix:)" << socket_ << R"("], "exports": [
        {"name": "slow", "backing": "memory:1M", "model": {"read": "const:20ms", "servers": 1},
         "limit": "iops=1000", "faults": ["write:error=EPERM"], "seed": 9}]})";
    serve_with({"--config", path("lab.json")});
    Client client(uri("slow"));
    EXPECT_EQ(client.try_write(0, 512), EPERM);
    EXPECT_EQ(client.try_read(0, 512), 0);
    EXPECT_GT(mean_service_ms(), 18);
    EXPECT_NE(server_->output().find("blkscope: nbd0: model read=const:20ms,servers=1, limit "
                                     "iops=1000, fault write:error=EPERM, seed 9\n"),
              std::string::npos)
        << server_->output();
}

TEST_F(ModelledDevice, WhatIsUnwiseIsLogged) {
    serve("memory:1M", {"--model", "read=pareto:1us:1.5", "--fault", "read:error=EDOM"});
    EXPECT_NE(server_->output().find("blkscope: nbd0: mean times: read 3us\n"), std::string::npos)
        << server_->output();
    EXPECT_NE(server_->output().find("blkscope: nbd0: pareto:1us:1.5 has no variance"),
              std::string::npos)
        << server_->output();
    EXPECT_NE(server_->output().find("blkscope: nbd0: clients see EDOM as EIO\n"),
              std::string::npos)
        << server_->output();
}

TEST_F(ModelledDevice, ListShowsWhatHolds) {
    serve("memory:1M",
          {"plain=memory:1M", "--model", "memory@read=exp:1us", "--limit", "memory@iops=5000",
           "--fault", "memory@read:error=EPERM;count=2", "--seed", "7", "--queue-depth", "9"});
    Client client(uri("memory"));
    EXPECT_EQ(client.try_read(0, 512), EPERM);
    const std::string listed = succeed({BLKSCOPE_BINARY, "list", "-v"});
    const std::string details =
        "         depth 9\n"
        "         model read=exp:1us, seed 7\n"
        "         limit iops=5000\n"
        "         fault 1: read:error=EPERM;count=2, hits 1\n";
    EXPECT_NE(listed.find(details), std::string::npos) << listed;
    EXPECT_TRUE(listed.ends_with("         depth 9\n")) << listed;
    EXPECT_EQ(succeed({BLKSCOPE_BINARY, "list"}).find("depth"), std::string::npos);
}

TEST_F(ModelledDevice, BadInputIsOneLineAndNoServer) {
    const std::string text = path("text");
    std::ofstream(text) << "no histogram\n";
    const std::vector<std::vector<std::string>> cases{
        {"--model", "read=gauss:1ms"},
        {"--model", "read=const:-1ms"},
        {"--model", "read=const:1"},
        {"--model", "read=pareto:1ms:1"},
        {"--model", "read=empirical:" + text},
        {"--model", "read=empirical:" + path("absent")},
        {"--model", "read=empirical:/dev/zero"},
        {"--model", "read=empirical:" + folder_.string()},
        {"--model", "other@nvme"},
        {"--model", "nvme", "--model", "hdd7200"},
        {"--limit", "iops=0"},
        {"--limit", "iops=10:5:100"},
        {"--limit", ""},
        {"--fault", "read:drop"},
        {"--fault", "read:error=EIO;sectors=2048-4095"},
        {"--fault", "read:error=EIO;sectors=7-6"},
        {"--fault", "read:error=EIO;count=0"},
        {"--fault", "read:error=EWHAT"},
        {"--seed", "-1"},
    };
    for (const auto& options : cases) {
        std::vector<std::string> command{BLKSCOPE_BINARY, "serve",  "a=memory:1M",
                                         "b=memory:1M",   "--unix", socket_};
        command.insert(command.end(), options.begin(), options.end());
        const CommandResult result = run(command);
        EXPECT_EQ(result.status, 2) << options.back() << ": " << result.output;
        EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
        EXPECT_EQ(result.output.rfind("blkscope: ", 0), 0u) << result.output;
    }
}

}  // namespace
}  // namespace blkscope::test
