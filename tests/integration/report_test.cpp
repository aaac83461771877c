// blkscope report: the figures in the file are those of iostat, and the exit status is the command's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

using nlohmann::json;

class Report : public ServedDevice {
  protected:
    CommandResult report(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {BLKSCOPE_BINARY, "report"});
        return run(arguments);
    }

    static std::string text_of(const std::string& file) {
        std::ostringstream text;
        text << std::ifstream(file).rdbuf();
        return text.str();
    }

    // Runs the report of a command that lasts until `load` has returned.
    template <class Load>
    json report_of(Load load) {
        const std::string wait =
            "touch " + path("begun") + "; until [ -e " + path("done") + " ]; do sleep 0.01; done";
        Process process({BLKSCOPE_BINARY, "report", "--every", "10ms", "-o", path("run.json"), "--",
                         "sh", "-c", wait},
                        path("report.out"));
        EXPECT_TRUE(eventually([&] { return std::filesystem::exists(path("begun")); }));
        load();
        std::ofstream(path("done")) << "done";
        EXPECT_EQ(process.wait(), 0) << process.output();
        return json::parse(text_of(path("run.json")));
    }
};

const json& device_in(const json& report) {
    const json& devices = report.at("devices");
    const auto found =
        std::ranges::find_if(devices, [](const json& one) { return one.at("device") == "nbd0"; });
    if (found == devices.end()) throw std::runtime_error("no nbd0");
    return *found;
}

TEST_F(Report, ItsFiguresAreThoseOfIostat) {
    serve("memory:1M", {"--fault", "read:error=EIO;sectors=128-135", "--queue-depth", "7"});
    const json data = report_of([&] {
        Client client(uri());
        for (int i = 0; i < 4; ++i) EXPECT_EQ(client.try_read(0, 4096), 0);
        EXPECT_EQ(client.try_read(65536, 512), EIO);
    });
    EXPECT_EQ(data.at("schema"), "blkscope.report/1");
    EXPECT_EQ(data.at("command").at(0), "sh");
    const json iostat = json::parse(succeed({IOSTAT_BINARY, "-jw", "nbd0"}));
    const json total = device_in(data.at("total"));
    EXPECT_EQ(total.at("counters"), device_in(iostat).at("counters"));
    EXPECT_EQ(total.at("histograms"), device_in(iostat).at("histograms"));
    EXPECT_EQ(total.at("percentiles"), device_in(iostat).at("percentiles"));
    EXPECT_EQ(total.at("counters").at("reads"), 5);
    const json summary = device_in(data.at("summary"));
    const double requests = summary.at("average").at("transfers_per_s").get<double>() *
                            summary.at("elapsed_s").get<double>();
    EXPECT_NEAR(requests, 5, 0.001);
    const json overview = device_in(data.at("overview"));
    EXPECT_EQ(overview.at("queue_depth"), 7);
    EXPECT_EQ(overview.at("errors"),
              json::parse(R"([{"op": "read", "errno": "EIO", "count": 1}])"));
    double counted = 0;
    for (const json& sample : device_in(data).at("samples")) {
        for (const json& bucket : sample.at("services")) counted += bucket.at(2).get<double>();
    }
    EXPECT_EQ(counted, 5);
}

TEST_F(Report, TheFileNeedsNothingElse) {
    serve("memory:1M");
    const CommandResult ran = report({"-o", path("run.html"), "--", "true", "</script><b>"});
    ASSERT_EQ(ran.status, 0) << ran.output;
    const std::string html = text_of(path("run.html"));
    EXPECT_TRUE(html.starts_with("<!doctype html>"));
    EXPECT_EQ(html.find(" src="), std::string::npos);
    EXPECT_EQ(html.find(" href="), std::string::npos);
    EXPECT_EQ(html.find("<!--"), std::string::npos);
    const std::string mark = "id=\"data\">";
    const size_t begin = html.find(mark) + mark.size();
    const std::string data = html.substr(begin, html.find("</script>", begin) - begin);
    EXPECT_EQ(json::parse(data).at("command").at(1), "</script><b>");
}

TEST_F(Report, TheExitStatusIsThatOfTheCommandAndOfTheConditions) {
    serve("memory:1M");
    const std::vector<std::string> file{"-o", path("run.html")};
    const auto status = [&](std::vector<std::string> words) {
        words.insert(words.begin(), file.begin(), file.end());
        return report(words).status;
    };
    EXPECT_EQ(status({"--", "sh", "-c", "exit 3"}), 3);
    EXPECT_EQ(status({"--", "sh", "-c", "kill -KILL $$"}), 137);
    EXPECT_EQ(status({"--fail-unless", "count(nbd0) == 0", "--", "true"}), 0);
    EXPECT_EQ(status({"--fail-unless", "count(nbd0) > 0", "--", "true"}), 125);
    EXPECT_EQ(status({"--fail-unless", "p99(nbd0) < 1s", "--", "true"}),
              125);  // nothing to measure
    EXPECT_EQ(status({"--fail-unless", "count(nbd0) > 0", "--", "sh", "-c", "exit 3"}), 3);
    EXPECT_EQ(status({"--fail-unless", "nonsense", "--", "true"}), 2);
    EXPECT_EQ(status({"--for", "20ms"}), 0);
    EXPECT_EQ(status({"--every", "1ms", "--for", "20ms"}), 2);
    EXPECT_EQ(status({}), 2);
    EXPECT_EQ(status({"--", "/nonexistent"}), 1);
}

// The first line, the data and the exit status all say one thing.
TEST_F(Report, AFailedConditionIsTheFirstThingItSays) {
    serve("memory:1M");
    const auto verdict = [&](const std::string& condition) {
        const CommandResult ran =
            report({"-o", path("run.json"), "--fail-unless", "errors(nbd0) == 0", "--fail-unless",
                    condition, "--for", "20ms"});
        const json data = json::parse(text_of(path("run.json")));
        EXPECT_EQ(ran.status, data.at("failed") ? 125 : 0) << ran.output;
        EXPECT_EQ(ran.output.substr(0, ran.output.find('\n')), data.at("headline"));
        return data.at("headline").get<std::string>();
    };
    EXPECT_EQ(verdict("count(nbd0) > 4"),
              "FAILED: 1 of 2 conditions does not hold: false: count(nbd0) > 4: nbd0 0, 4 (100 %) "
              "below the bound");
    EXPECT_EQ(verdict("count(nbd0) < 4"), "PASSED: 2 of 2 conditions hold");
}

TEST_F(Report, AWrongWordOfAConditionIsKnownBeforeTheRun) {
    serve("memory:1M");
    const CommandResult ran = report({"-o", path("run.json"), "--fail-unless",
                                      "count(nbd0.reads) == 0", "--", "touch", path("ran")});
    EXPECT_EQ(ran.status, 2);
    EXPECT_NE(ran.output.find("no such operation reads; did you mean read?"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(Report, CountsFromTheBeginningOfTheRun) {
    serve("memory:1M", {"--fault", "read:error=EIO;sectors=128-135"});
    Client client(uri());
    EXPECT_EQ(client.try_read(65536, 512), EIO);
    EXPECT_EQ(client.try_read(65536, 512), EIO);
    const json data = report_of([&] { EXPECT_EQ(client.try_read(65536, 512), EIO); });
    const json overview = device_in(data.at("overview"));
    EXPECT_EQ(overview.at("errors").at(0).at("count"), 1);
    EXPECT_EQ(overview.at("faults").at(0).at("hits"), 1);
    EXPECT_EQ(device_in(data.at("first")).at("counters").at("reads"), 2);
    EXPECT_EQ(device_in(data.at("total")).at("counters").at("reads"), 3);
}

TEST_F(Report, ADeviceThatCameAndLeftIsInIt) {
    const json data = report_of([&] {
        serve("memory:1M");
        Client client(uri());
        for (int i = 0; i < 3; ++i) EXPECT_EQ(client.try_read(0, 4096), 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // looks are 10 ms apart
        EXPECT_EQ(stop_server(), 0);
    });
    EXPECT_EQ(device_in(data.at("total")).at("counters").at("reads"), 3);
    EXPECT_EQ(device_in(data.at("overview")).at("clients").at(0).at("client"), "client-1");
}

// The errors of the first life must not be lost.
TEST_F(Report, ADeviceThatCameTwiceIsNotMeasured) {
    const std::string begun = path("begun");
    const auto lives = [&](bool last_one_ends) {
        std::filesystem::remove(begun);
        std::filesystem::remove(path("done"));
        Process process(
            {BLKSCOPE_BINARY, "report", "--every", "10ms", "-o", path("run.json"), "--fail-unless",
             "errors(nbd*) == 0", "--", "sh", "-c",
             "touch " + begun + "; until [ -e " + path("done") + " ]; do sleep 0.01; done"},
            path("report.out"));
        EXPECT_TRUE(eventually([&] { return std::filesystem::exists(begun); }));
        for (const bool is_last : {false, true}) {
            serve("memory:1M", {"--fault", "read:error=EIO"});
            if (!is_last) Client(uri()).try_read(0, 512);
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            if (!is_last || last_one_ends) stop_server();
        }
        std::ofstream(path("done")) << "done";
        EXPECT_EQ(process.wait(), 125) << process.output();
        const std::string why =
            "nothing to measure: errors(nbd*) == 0: nbd0 was removed and made anew\n";
        EXPECT_EQ(process.output(), "FAILED: 1 of 1 condition does not hold: " + why + why);
        if (!last_one_ends) stop_server();
    };
    lives(false);
    lives(true);
}

TEST_F(Report, TheCommandGetsItsWordsAndSignalsAsWithoutIt) {
    serve("memory:1M");
    const auto printed = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"-o", path("run.json"), "--"});
        return report(words).output;
    };
    EXPECT_EQ(printed({"printf", "<%s>", "[a,b]", "--", "[ 1 = 1 ]", ""}),
              "<[a,b]><--><[ 1 = 1 ]><>");
    EXPECT_EQ(printed({"sh", "-c", "grep SigIgn /proc/$$/status | tail -c 5"}), "0000\n");
}

// SIGHUP is the end of a session. The command may not have got it.
TEST_F(Report, SigtermAndSighupEndTheCommandAndTheFileIsThere) {
    serve("memory:1M");
    for (const int signal : {SIGTERM, SIGHUP}) {
        SCOPED_TRACE(signal);
        for (const char* file : {"begun", "run.json"}) std::filesystem::remove(path(file));
        Process process({BLKSCOPE_BINARY, "report", "-o", path("run.json"), "--", "sh", "-c",
                         "touch " + path("begun") + "; exec sleep 600"},
                        path("report.out"));
        ASSERT_TRUE(eventually([&] { return std::filesystem::exists(path("begun")); }));
        process.signal(signal);
        EXPECT_EQ(process.wait(), 128 + SIGTERM) << process.output();
        EXPECT_EQ(json::parse(text_of(path("run.json"))).at("status"), 128 + SIGTERM);
    }
}

// A person ends a run with SIGINT, and the run until then counts.
TEST_F(Report, AnEarlyEndOfATimeIsToldByTheStatus) {
    const auto catches = [](pid_t process, int signal) {
        std::ifstream status("/proc/" + std::to_string(process) + "/status");
        const std::string name = "SigCgt:";
        for (std::string line; std::getline(status, line);) {
            if (!line.starts_with(name)) continue;
            return (std::stoull(line.substr(name.size()), nullptr, 16) >> (signal - 1) & 1) != 0;
        }
        return false;
    };
    serve("memory:1M");
    const std::vector<std::pair<int, int>> all{
        {SIGTERM, 128 + SIGTERM}, {SIGHUP, 128 + SIGHUP}, {SIGINT, 0}};
    for (const auto& [signal, status] : all) {
        std::filesystem::remove(path("run.json"));
        Process process({BLKSCOPE_BINARY, "report", "-o", path("run.json"), "--fail-unless",
                         "count(nbd0) == 0", "--for", "600s"},
                        path("report.out"));
        ASSERT_TRUE(eventually([&, asked = signal] { return catches(process.pid(), asked); }));
        process.signal(signal);
        EXPECT_EQ(process.wait(), status) << process.output();
        EXPECT_EQ(json::parse(text_of(path("run.json"))).at("status"), status);
    }
}

// A command that calls select(2) writes beyond its sets with descriptors above 1023.
TEST_F(Report, ItsCommandHasTheUsersLimitOfDescriptors) {
    serve("memory:1M");
    const std::string limits = path("limits");
    const CommandResult result =
        run({"sh", "-c",
             "ulimit -Sn 200; ulimit -Hn 400; exec " BLKSCOPE_BINARY " report -o " +
                 path("run.html") + " -- sh -c 'ulimit -Sn; ulimit -Hn' >" + limits});
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_TRUE(text_of(limits).starts_with("200\n400\n")) << text_of(limits);
}

// The limit of file sizes stands for a full disk. The thread sanitizer has a file of half a MiB itself, unless there
// is no folder for temporary files.
TEST_F(Report, ThatFindsNoRoomTellsItsFindingsAndKeepsTheOlderFile) {
    serve("memory:1M");
    std::ofstream(path("run.html")) << "older";
    const CommandResult full =
        run({"sh", "-c",
             "ulimit -f 1; exec env TMPDIR=/nonexistent " BLKSCOPE_BINARY " report -o " +
                 path("run.html") + " --fail-unless 'count(nbd0) == 0' --for 50ms"});
    EXPECT_EQ(full.status, 1);
    EXPECT_NE(full.output.find("true: count(nbd0) == 0"), std::string::npos) << full.output;
    EXPECT_NE(full.output.find("run.html: File too large"), std::string::npos) << full.output;
    EXPECT_EQ(text_of(path("run.html")), "older");
}

TEST_F(Report, OfACommandThatCannotStartLeavesNoFile) {
    serve("memory:1M");
    EXPECT_EQ(report({"-o", path("run.html"), "--", "/nonexistent"}).status, 1);
    EXPECT_FALSE(std::filesystem::exists(path("run.html")));
}

TEST_F(Report, ASecondAndAThirdSigintEndACommandThatStays) {
    serve("memory:1M");
    for (const auto& [ignored, count] : {std::pair{"INT", 2}, {"INT TERM", 3}}) {
        const std::string begun = path(std::string("begun") + std::to_string(count));
        Process process({BLKSCOPE_BINARY, "report", "-o", path("run.json"), "--", "sh", "-c",
                         std::string("trap '' ") + ignored + "; touch " + begun +
                             "; while :; do sleep 0.1; done"},
                        path("report.out"));
        ASSERT_TRUE(eventually([&] { return std::filesystem::exists(begun); }));
        const auto pause = std::chrono::milliseconds(300);
        for (int i = 0; i < count; ++i) {
            EXPECT_TRUE(process.running());
            process.signal(SIGINT);
            std::this_thread::sleep_for(pause);  // two signals at a time are one
        }
        const int status = 128 + (count == 2 ? SIGTERM : SIGKILL);
        EXPECT_EQ(process.wait(), status) << process.output();
        EXPECT_EQ(json::parse(text_of(path("run.json"))).at("status"), status);
    }
}

TEST_F(Report, AnOutputThatCannotBeWrittenIsKnownBeforeTheRun) {
    EXPECT_EQ(report({"-o", "/nonexistent/run.html", "--", "touch", path("ran")}).status, 1);
    EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(Report, AComparisonMayBeAGate) {
    serve("memory:1M");
    const auto compare = [&](const std::string& before, const std::string& after,
                             const std::string& share) {
        return report({"--compare", path(before), path(after), "-o", path("both.json"),
                       "--fail-if-slower", share});
    };
    const auto samples = [](double read_ms) {
        json all = json::array();
        for (int i = 0; i < 40; ++i) {
            all.push_back({{"elapsed", 0.1},
                           {"reads", 1000},
                           {"writes", 0},
                           {"readBytes", 4096000},
                           {"writtenBytes", 0},
                           {"wait", 0},
                           {"actv", 2},
                           {"times", {{"read_total", {read_ms * 1e8 + i, 100}}}}});
        }
        return all;
    };
    for (const auto& [name, read_ms] : {std::pair{"before.json", 2.0}, {"after.json", 2.3}}) {
        std::ofstream(path(name)) << json{
            {"schema", "blkscope.report/1"},
            {"command", {"load"}},
            {"began", 1},
            {"seconds", 4},
            {"devices", {{{"device", "nbd0"}, {"samples", samples(read_ms)}}}}};
    }
    const CommandResult slower = compare("before.json", "after.json", "10%");
    EXPECT_EQ(slower.status, 125);
    EXPECT_TRUE(slower.output.starts_with("FAILED: ")) << slower.output;
    EXPECT_NE(slower.output.find("nbd0 read total, ms +15.0 %"), std::string::npos);
    EXPECT_EQ(json::parse(text_of(path("both.json"))).at("failed"), true);
    EXPECT_EQ(compare("before.json", "after.json", "20%").status, 0);
    EXPECT_EQ(compare("after.json", "before.json", "0%").status, 0);
    EXPECT_EQ(json::parse(text_of(path("both.json"))).at("failed"), false);
    EXPECT_EQ(compare("before.json", "after.json", "ten").status, 2);
    EXPECT_EQ(report({"--fail-if-slower", "10%", "--for", "20ms"}).status, 2);
}

TEST_F(Report, AComparisonDoesNotReplaceWhatItCompares) {
    serve("memory:1M");
    for (const char* name : {"before.html", "after.html"}) {
        ASSERT_EQ(report({"-o", path(name), "--for", "50ms"}).status, 0);
    }
    const auto compare = [&](const std::string& output) {
        return report({"--compare", path("before.html"), path("after.html"), "-o", output}).status;
    };
    EXPECT_EQ(compare(path("after.html")), 2);
    EXPECT_EQ(compare(path("both.html")), 0);
    EXPECT_NE(text_of(path("after.html")).find("blkscope.report/1"), std::string::npos);
}

}  // namespace
}  // namespace blkscope::test
