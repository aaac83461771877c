// gstat, the program, beside a server.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

class GstatProgram : public ServedDevice {
  protected:
    static std::vector<std::string> lines_of(const std::string& text) {
        std::istringstream in(text);
        std::vector<std::string> lines;
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        return lines;
    }
};

TEST_F(GstatProgram, PrintsOneReportWhereThereIsNoTerminal) {
    serve_with({"one=memory:1M", "two=memory:1M"});
    const auto lines = lines_of(succeed({GSTAT_BINARY, "-I", "10ms"}));
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[0].substr(0, 4), "dT: ");
    EXPECT_EQ(lines[1], " L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name");
    EXPECT_EQ(lines[2], "    0      0      0      0    0.0      0      0    0.0    0.0  nbd0");
    EXPECT_EQ(lines[3], "    0      0      0      0    0.0      0      0    0.0    0.0  nbd1");
}

TEST_F(GstatProgram, CountsWhatAClientDoesInCsv) {
    serve("memory:1M");
    Client client(uri());
    Process gstat({GSTAT_BINARY, "-C", "-I", "20ms"}, path("gstat.csv"));
    // 4096 bytes a write, whatever the interval that it falls into.
    EXPECT_TRUE(eventually([&] {
        EXPECT_EQ(client.try_write(0, 4096), 0);
        const auto lines = lines_of(gstat.output());
        return std::ranges::any_of(lines, [](const std::string& line) {
            return line.find(",nbd0,0,") != std::string::npos &&
                   line.find(",nbd0,0,0,") == std::string::npos;
        });
    }));
    gstat.signal(SIGTERM);
    EXPECT_EQ(gstat.wait(), 0);
    EXPECT_EQ(lines_of(gstat.output())[0],
              "timestamp,name,q-depth,total_ops/s,read/s,read-KiB/s,ms/read,write/s,write-KiB/s,"
              "ms/write,%busy");
}

TEST_F(GstatProgram, WithoutEndItBeginsWithAReportOverNoTime) {
    serve("memory:1M");
    for (const char* batch : {"-bB", "-bC"}) {
        Process gstat({GSTAT_BINARY, batch, "-I", "10ms"}, path(std::string("gstat") + batch));
        EXPECT_TRUE(eventually([&] { return lines_of(gstat.output()).size() > 9; })) << batch;
        gstat.signal(SIGTERM);
        EXPECT_EQ(gstat.wait(), 0);
        const auto lines = lines_of(gstat.output());
        if (batch == std::string("-bB")) {
            EXPECT_EQ(lines[0], "dT: 0.000s  w: 0.010s");
            EXPECT_EQ(lines[2],
                      "    0      0      0      0    0.0      0      0    0.0    0.0  nbd0");
        } else {
            EXPECT_EQ(lines[1].substr(lines[1].find(',')), ",nbd0,0,0,0,0,0.0,0,0,0.0,0.0");
        }
    }
}

TEST_F(GstatProgram, SaysWhatIsWrongWithItsCommandLine) {
    const CommandResult result = run({GSTAT_BINARY, "-I", "soon"});
    EXPECT_EQ(result.status, 64);
    EXPECT_EQ(lines_of(result.output)[0], "gstat: invalid interval 'soon'");
}

// As nohup(1) has it.
TEST_F(GstatProgram, GoesOnAfterASignalThatWasIgnoredWhenItWasStarted) {
    serve("memory:1M");
    const std::string gstat_of_shell =
        std::string("trap '' HUP; exec '") + GSTAT_BINARY + "' -B -I 10ms";
    Process gstat({"sh", "-c", gstat_of_shell}, path("gstat.out"));
    const auto reports = [&] { return lines_of(gstat.output()).size() / 3; };
    ASSERT_TRUE(eventually([&] { return reports() > 0; }));
    gstat.signal(SIGHUP);
    const size_t then = reports();
    EXPECT_TRUE(eventually([&] { return reports() > then + 2; }));
    gstat.signal(SIGTERM);
    EXPECT_EQ(gstat.wait(), 0);
}

// On a terminal of its own, from script(1): it draws, and q ends it.
TEST_F(GstatProgram, DrawsOnATerminalUntilQ) {
    NEEDS("script");
    serve("memory:1M");
    const CommandResult result =
        run({"sh", "-c",
             "(i=0; while [ $i -lt 100 ] && ! grep -q nbd0 '" + path("typed") +
                 "'; do sleep 0.05; i=$((i+1)); done; printf q) | TERM=xterm script -qfc '" +
                 GSTAT_BINARY + " -I 50ms' '" + path("typed") + "'"});
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.output.find("L(q)"), std::string::npos);
    EXPECT_NE(result.output.find("nbd0"), std::string::npos);
}

// Control-backslash in a terminal.
TEST_F(GstatProgram, GivesTheTerminalBackAtSigquit) {
    NEEDS("script");
    serve("memory:1M");
    const std::string typed = path("typed");
    const std::string gstat =
        "sh -c 'echo $$ >" + path("pid") + "; exec " GSTAT_BINARY " -I 50ms'; echo status $?";
    std::ofstream(path("session")) << gstat;
    const CommandResult result =
        run({"sh", "-c",
             "(i=0; while [ $i -lt 100 ] && ! grep -q nbd0 " + typed +
                 "; do sleep 0.05; i=$((i+1)); done; kill -QUIT $(cat " + path("pid") +
                 ")) & TERM=xterm script -qfc 'sh " + path("session") + "' " + typed});
    EXPECT_NE(result.output.find("\x1b[?1049l"), std::string::npos) << "the usual screen";
    EXPECT_NE(result.output.find("status 0"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace blkscope::test
