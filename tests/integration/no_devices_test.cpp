// What readers say where no device is: of a wrong run directory, and of a name that no device has.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

struct ReadingCommand {
    std::vector<std::string> command;
    int status;
};

class NoDevices : public ServedDevice {
  protected:
    [[nodiscard]] std::vector<ReadingCommand> readers() const {
        return {{{BLKSCOPE_BINARY, "list"}, 0},
                {{BLKSCOPE_BINARY, "list", "-v"}, 0},
                {{BLKSCOPE_BINARY, "clients"}, 1},
                {{BLKSCOPE_BINARY, "explain"}, 1},
                {{BLKSCOPE_BINARY, "slow"}, 1},
                {{BLKSCOPE_BINARY, "trace"}, 1},
                {{BLKSCOPE_BINARY, "check", "--for", "1ms", "mean(nbd0) < 1ms"}, 4},
                {{BLKSCOPE_BINARY, "check", "--save", path("look.json")}, 0},
                {{BLKSCOPE_BINARY, "report", "-o", path("run.html"), "--", "true"}, 0},
                {{BLKSCOPE_BINARY, "report", "-o", path("run.html"), "--", "false"}, 1},
                {{BLKSCOPE_BINARY, "top", "--batch", "1", "1"}, 0},
                {{IOSTAT_BINARY}, 0},
                {{IOSTAT_BINARY, "-xn"}, 0},
                {{IOSTAT_BINARY, "-j"}, 0},
                {{IOSTAT_BINARY, "--style", "freebsd"}, 0},
                {{GSTAT_BINARY, "-b", "-I", "10ms"}, 0},
                {{KSTAT_BINARY, "-m", "nbd"}, 1},
                {{KSTAT_BINARY, "-p", "cpu:0::"}, 0},
                {{BLKSCOPE_BINARY, "kstat2"}, 1}};
    }

    [[nodiscard]] CommandResult in_folder(const std::string& folder,
                                          const std::vector<std::string>& command) {
        std::vector<std::string> all{"env", "KSTAT_DIR=" + folder, "timeout", "60"};
        all.insert(all.end(), command.begin(), command.end());
        return run(all);
    }
};

TEST_F(NoDevices, EachReaderSaysWhichFolderHasNone) {
    const std::string empty = path("empty");
    const std::string killed = path("killed");
    for (const std::string& folder : {empty, killed}) std::filesystem::create_directory(folder);
    {
        // A server that was killed leaves its socket.
        const auto server = start_process({"env", "KSTAT_DIR=" + killed, BLKSCOPE_BINARY, "serve",
                                           "--unix", path("killed.sock"), "memory:1M"},
                                          "killed.log");
        server->signal(SIGKILL);
        EXPECT_EQ(server->wait(), 128 + SIGKILL);
    }
    EXPECT_FALSE(std::filesystem::is_empty(killed));
    for (const std::string& folder : {path("missing"), empty, killed}) {
        for (const ReadingCommand& reader : readers()) {
            const CommandResult result = in_folder(folder, reader.command);
            const std::string name = reader.command[0] + " " + reader.command.back();
            EXPECT_EQ(result.status, reader.status) << name << ": " << result.output;
            const size_t first = result.output.find("no devices in " + folder + ";");
            EXPECT_NE(first, std::string::npos) << name << ": " << result.output;
            EXPECT_EQ(result.output.find("no devices in", first + 1), std::string::npos)
                << name << ": " << result.output;
        }
    }
}

TEST_F(NoDevices, WebSaysSoAndShowsThoseThatComeLater) {
    NEEDS("curl");
    Process web({"env", "KSTAT_DIR=" + path("later"), BLKSCOPE_BINARY, "web", "--listen",
                 "unix:" + path("web.sock")},
                path("web.out"), path("web.err"));
    ASSERT_TRUE(eventually([&] { return web.output().ends_with("\n"); }));
    std::filesystem::create_directory(path("later"));
    const auto server = start_process({"env", "KSTAT_DIR=" + path("later"), BLKSCOPE_BINARY,
                                       "serve", "--unix", path("later.sock"), "memory:1M"},
                                      "later.log");
    EXPECT_TRUE(eventually([&] {
        return run({"curl", "-s", "--unix-socket", path("web.sock"), "http://localhost/metrics"})
                   .output.find("blkscope_reads_completed_total{device=\"nbd0\"}") !=
               std::string::npos;
    }));
    EXPECT_NE(run({"cat", path("web.err")}).output.find("no devices in " + path("later") + ";"),
              std::string::npos);
    server->signal(SIGTERM);
    EXPECT_EQ(server->wait(), 0);
    web.signal(SIGTERM);
    EXPECT_EQ(web.wait(), 0);
}

TEST_F(NoDevices, ReadersAreQuietWhereADeviceIs) {
    serve("memory:1M");
    for (const ReadingCommand& reader : readers()) {
        const CommandResult result = run(reader.command);
        EXPECT_EQ(result.output.find("no devices in"), std::string::npos)
            << reader.command.back() << ": " << result.output;
    }
}

TEST_F(NoDevices, ACommandTakesItsDeviceAsAnOperand) {
    serve("memory:1M", {"other=memory:2M"});
    EXPECT_NE(succeed({BLKSCOPE_BINARY, "list", "nbd1"}).find("nbd1 "), std::string::npos);
    EXPECT_EQ(succeed({BLKSCOPE_BINARY, "list", "nbd1"}).find("nbd0 "), std::string::npos);
    const std::string both = succeed({BLKSCOPE_BINARY, "list", "nbd1", "nbd0"});
    EXPECT_NE(both.find("nbd0 "), std::string::npos) << both;
    EXPECT_NE(both.find("nbd1 "), std::string::npos) << both;
    EXPECT_EQ(succeed({BLKSCOPE_BINARY, "slow", "nbd1"}),
              "no request of the last minute took 10ms, and none is under way for so long\n");
    const CommandResult unnamed = run({BLKSCOPE_BINARY, "slow"});
    EXPECT_EQ(unnamed.status, 2);
    EXPECT_NE(unnamed.output.find("nbd0, nbd1"), std::string::npos) << unnamed.output;
    for (const char* command : {"list", "slow", "clients", "explain", "trace"}) {
        const CommandResult result = run({BLKSCOPE_BINARY, command, "nbd7"});
        EXPECT_EQ(result.status, 1) << command;
        EXPECT_NE(result.output.find("nbd7"), std::string::npos) << result.output;
        EXPECT_NE(result.output.find("'blkscope list' shows"), std::string::npos) << result.output;
    }
}

}  // namespace
}  // namespace blkscope::test
