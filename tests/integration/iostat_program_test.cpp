// The program as a user runs it, beside a server.

#include <signal.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

class IostatProgram : public ServedDevice {
  protected:
    std::unique_ptr<Process> start(const std::string& letters) {
        return std::make_unique<Process>(
            std::vector<std::string>{IOSTAT_BINARY, letters, "nbd0", "1"}, path("iostat.log"));
    }

    // Ends it by `signal` once it has printed something; its exit status.
    static int interrupt(Process& iostat, int signal) {
        EXPECT_TRUE(eventually([&] { return !iostat.output().empty(); }));
        iostat.signal(signal);
        return iostat.wait();
    }
};

TEST_F(IostatProgram, CountsWhatAClientDid) {
    serve("memory:1M");
    {
        Client client(uri());
        for (int i = 0; i < 5; ++i) client.read(0, 4096);
        EXPECT_EQ(client.try_write(0, 8192), 0);
    }
    EXPECT_TRUE(eventually([&] { return read_io().writes == 1; }));
    const CommandResult result = run({IOSTAT_BINARY, "-xIr", "nbd0"});
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.output.find("\nnbd0,5.0,1.0,20.0,8.0,"), std::string::npos) << result.output;
}

TEST_F(IostatProgram, AnInterruptedJsonRunIsWholeLines) {
    serve("memory:1M");
    const auto iostat = start("-j");
    EXPECT_EQ(interrupt(*iostat, SIGINT), 128 + SIGINT);
    std::istringstream lines(iostat->output());
    EXPECT_TRUE(iostat->output().ends_with("\n"));
    for (std::string line; std::getline(lines, line);) {
        ASSERT_TRUE(nlohmann::json::accept(line)) << line;
        EXPECT_EQ(nlohmann::json::parse(line)["devices"][0]["device"], "nbd0");
    }
}

TEST_F(IostatProgram, AnInterruptedRunEndsWithItsSummary) {
    serve("memory:1M");
    for (const int signal : {SIGINT, SIGTERM}) {
        const auto iostat = start("-xyS");
        EXPECT_EQ(interrupt(*iostat, signal), 0);
        const std::string output = iostat->output();
        const size_t summary = output.find("\nsummary of the run: ");
        ASSERT_NE(summary, std::string::npos) << output;
        EXPECT_NE(output.find("\nmaximum ", summary), std::string::npos) << output;
    }
}

TEST_F(IostatProgram, TheReportSinceTheCreationIsNotCountedWhereItIsSkipped) {
    serve("memory:1M");
    const CommandResult result = run({IOSTAT_BINARY, "-xyrs", "nbd0", "1", "1"});
    EXPECT_EQ(result.status, 0);
    const size_t first = result.output.find("\nnbd0,");
    ASSERT_NE(first, std::string::npos) << result.output;
    EXPECT_EQ(result.output.find("\nnbd0,", first + 1), std::string::npos) << result.output;
}

TEST_F(IostatProgram, AWrongCommandLineHasItsStatus) {
    EXPECT_EQ(run({IOSTAT_BINARY, "-C"}).status, 2);
    EXPECT_EQ(run({IOSTAT_BINARY, "-dD"}).status, 1);
    EXPECT_EQ(
        run({IOSTAT_BINARY, "-c", "sd0"}).output,
        "iostat: invalid interval sd0; an interval is a whole number of seconds, 1 or more\n");
}

}  // namespace
}  // namespace blkscope::test
