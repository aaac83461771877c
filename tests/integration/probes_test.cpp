// The probes of a server, as bpftrace and the installed scripts see them.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

class Probes : public ServedDevice {
  protected:
    void SetUp() override {
        if (BLKSCOPE_PROBES == 0) GTEST_SKIP() << "built without <sys/sdt.h>";
        NEEDS("bpftrace");
        if (geteuid() != 0) GTEST_SKIP() << "bpftrace needs root";
        ServedDevice::SetUp();
        const CommandResult tried = run({"bpftrace", "-e", "BEGIN { exit(); }"});
        if (tried.status != 0) GTEST_SKIP() << "this kernel has no BPF for us: " << tried.output;
    }

    /// A script of tools/bpftrace, when it is attached to the server. bpftrace attaches all probes
    /// before it waits for their output.
    std::unique_ptr<Process> attach(const std::string& name,
                                    const std::vector<std::string>& arguments = {}) {
        std::vector<std::string> command{"bpftrace",
                                         "-B",
                                         "none",
                                         "-p",
                                         std::to_string(server_->pid()),
                                         std::string(SCRIPTS) + "/" + name + ".bt"};
        command.insert(command.end(), arguments.begin(), arguments.end());
        auto script = std::make_unique<Process>(command, path(name + ".output"));
        EXPECT_TRUE(eventually([&] {
            std::string waits_in;
            std::ifstream("/proc/" + std::to_string(script->pid()) + "/wchan") >> waits_in;
            return waits_in.find("epoll") != std::string::npos;
        })) << script->output();
        return script;
    }
    /// The output until Ctrl-C.
    static std::string end(Process& script) {
        script.signal(SIGINT);
        EXPECT_EQ(script.wait(), 0) << script.output();
        return script.output();
    }

    /// The sum of the counts of a histogram: lines as "[64, 128)   17 |@@@  |".
    static uint64_t count_of(const std::string& output, const std::string& map) {
        std::istringstream lines(output.substr(std::min(output.find("@" + map), output.size())));
        std::string line;
        std::getline(lines, line);
        uint64_t count = 0;
        while (std::getline(lines, line) && line.starts_with("[")) {
            count += std::stoull(line.substr(line.find_first_of(")]") + 1));
        }
        return count;
    }
};

TEST_F(Probes, TheScriptsCountTheRequestsThatTheKstatsCount) {
#if defined(__clang__) && BLKSCOPE_SANITIZED
    GTEST_SKIP() << "clang's sanitizers keep a probe's arguments in memory, which bpftrace cannot read";
#endif
    serve("memory:1M", {"--fault", "write:delay=const:20ms;count=2"});
    const auto latency = attach("latency");
    const auto slow = attach("slow", {"15"});
    const auto faults = attach("faults");
    Client client(uri());
    for (uint64_t i = 0; i < 50; ++i) ASSERT_EQ(client.try_read(i * 512, 512), 0);
    for (uint64_t i = 0; i < 7; ++i) ASSERT_EQ(client.try_write(i * 512, 512), 0);
    ASSERT_EQ(nbd_flush(client.get(), 0), 0);
    // The second line of a slow request comes when its reply is sent.
    EXPECT_TRUE(eventually([&] {
        const std::string said = slow->output();
        return said.find("client-1   write", said.find("client-1   write") + 1) !=
               std::string::npos;
    })) << slow->output();
    const kstat_io_t io = read_io();
    const std::string said = end(*latency);
    for (const char* map : {"bytes[0, 1]", "wait_us[0, 1]", "service_us[0, 1]"}) {
        EXPECT_EQ(count_of(said, map), io.reads + io.writes) << map << "\n" << said;
    }
    EXPECT_EQ(io.reads + io.writes, 57u);
    const std::string hits = end(*faults);
    EXPECT_NE(hits.find("@faults[0, 1, 0]: 2"), std::string::npos) << hits;
    end(*slow);
}

}  // namespace
}  // namespace blkscope::test
