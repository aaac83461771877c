// blkscope check as a script runs it: its lines and its exit statuses.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

class Check : public ServedDevice {
  protected:
    CommandResult check(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {BLKSCOPE_BINARY, "check"});
        return run(arguments);
    }

    // The report of the devices as they are now.
    std::string report() {
        const CommandResult saved = check({"--save", path("before.json")});
        EXPECT_EQ(saved.status, 0) << saved.output;
        return path("before.json");
    }
};

TEST_F(Check, AModelledDeviceFailsJustBelowItsTimeAndPassesAtIt) {
    serve("memory:1M", {"--model", "read=const:5100us"});
    const std::string before = report();
    {
        Client client(uri());
        for (int i = 0; i < 3; ++i) ASSERT_EQ(client.try_read(0, 512), 0);
    }
    const CommandResult fails = check({"--since", before, "p50(nbd0.read.service) < 5ms"});
    EXPECT_EQ(fails.status, 1) << fails.output;
    EXPECT_TRUE(fails.output.starts_with("false: p50(nbd0.read.service) < 5ms: nbd0 "));
    EXPECT_NE(fails.output.find(", 3 requests\n"), std::string::npos) << fails.output;
    const CommandResult passes =
        check({"--since", before, "p50(nbd*.read.service) >= 5ms", "count(nbd0.read) == 3",
               "mean(nbd0.read) >= 5.1ms", "errors(nbd0) == 0"});
    EXPECT_EQ(passes.status, 0) << passes.output;
    const CommandResult both =
        check({"--since", before, "p50(nbd0.write) < 5ms", "p50(nbd0) < 1us", "errors(nbd0) == 0"});
    EXPECT_EQ(both.status, 1) << both.output;
}

TEST_F(Check, AConditionThatFailsDoesSoThoughNobodyCanReadIt) {
    serve("memory:1M");
    const std::string command = BLKSCOPE_BINARY " check --for 1ms ";
    const auto unread = [&](const std::string& condition) {
        return run({"sh", "-c", command + "'" + condition + "' >/dev/full"});
    };
    EXPECT_EQ(unread("count(nbd0) > 0").status, 1);
    EXPECT_EQ(unread("count(nbd0) == 0").status, 4);
    EXPECT_EQ(unread("count(nbd0) == 0").output,
              "blkscope: check: cannot write: No space left on device\n");
    EXPECT_EQ(check({"--save", path("none/before.json")}).output,
              "blkscope: check: cannot write " + path("none/before.json") +
                  ": No such file or directory\n");
}

// The model's histogram of lateness is in a report of --save, too.
TEST_F(Check, TheLatenessOfTheServerHasAConditionOfItsOwn) {
    serve("memory:1M", {"--model", "read=const:1ms"});
    const std::string before = report();
    for (int i = 0; i < 5; ++i) ASSERT_EQ(Client(uri()).try_read(0, 512), 0);
    const CommandResult checked = check({"--since", before, "late(nbd0) < 100s"});
    EXPECT_EQ(checked.status, 0) << checked.output;
    EXPECT_NE(checked.output.find(", 5 requests\n"), std::string::npos) << checked.output;
    EXPECT_EQ(check({"--since", before, "late(nbd0) > 100s"}).status, 1);
}

TEST_F(Check, JsonHasTheVerdictsOfTheLinesAndTheStatus) {
    serve("memory:1M");
    const std::vector<std::string> words{"--for", "1ms", "count(nbd0) == 0", "count(nbd0) > 4",
                                         "p99(nbd0) < 1s"};
    std::vector<std::string> with_json = words;
    with_json.emplace_back("--json");
    const CommandResult lines = check(words);
    const CommandResult as_json = check(with_json);
    EXPECT_EQ(as_json.status, lines.status);
    const auto json = nlohmann::json::parse(as_json.output);
    EXPECT_EQ(json.at("status"), as_json.status);
    std::string text;
    nlohmann::json holds;
    for (const auto& one : json.at("conditions")) {
        text += one.at("line").get<std::string>() + "\n";
        holds.push_back(one.at("holds"));
    }
    EXPECT_EQ(text, lines.output);
    EXPECT_EQ(holds.dump(), "[true,false,null]");
    EXPECT_EQ(json.at("conditions").at(1).at("beyond"), "4 (100 %) below the bound");
    EXPECT_EQ(json.at("late").size(), 0u);
}

TEST_F(Check, AWrongWordOfAConditionIsKnownAtOnce) {
    serve("memory:1M");
    const CommandResult checked = check({"--for", "600s", "count(nbd0.reads) == 0"});
    EXPECT_EQ(checked.status, 2);
    EXPECT_NE(checked.output.find("no such operation reads; did you mean read?"),
              std::string::npos);
}

TEST_F(Check, RequestsThatFailAreErrors) {
    serve("memory:1M", {"--fault", "read:error=EIO"});
    const std::string before = report();
    Client client(uri());
    ASSERT_EQ(client.try_read(0, 512), EIO);
    const CommandResult fails = check({"--since", before, "errors(nbd0) == 0"});
    EXPECT_EQ(fails.status, 1);
    EXPECT_EQ(fails.output, "false: errors(nbd0) == 0: nbd0 1, 1 request\n");
    EXPECT_EQ(check({"--since", before, "errors(nbd0.read) == 1"}).status, 0);
    EXPECT_EQ(check({"--for", "1ms", "errors(nbd0.read) == 0"}).status, 0);
    std::ofstream(path("iostat.json")) << succeed({IOSTAT_BINARY, "-jw"});
    EXPECT_EQ(check({"--since", path("iostat.json"), "count(nbd0) == 0"}).status, 0);
    EXPECT_EQ(check({"--since", path("iostat.json"), "errors(nbd0) == 0"}).status, 4);
}

TEST_F(Check, RequestsThatAreRefusedAreErrors) {
    serve("memory:1M", {"--read-only"});
    const std::string before = report();
    Client client(uri());
    ASSERT_EQ(client.try_write(0, 512), EPERM);
    ASSERT_EQ(client.try_read(1 << 20, 512), EINVAL);
    const CommandResult fails = check({"--since", before, "errors(nbd0) == 0"});
    EXPECT_EQ(fails.status, 1);
    EXPECT_EQ(fails.output, "false: errors(nbd0) == 0: nbd0 2, 0 requests\n");
    EXPECT_EQ(check({"--for", "1ms", "errors(nbd0) == 0"}).status, 0);
}

TEST_F(Check, ADeviceOfAServerIsNamedWithItsProcess) {
    serve("memory:1M");
    const std::string name = "nbd0@" + std::to_string(server_->pid());
    EXPECT_EQ(check({"--for", "1ms", "errors(" + name + ") == 0"}).status, 0);
    EXPECT_NE(succeed({IOSTAT_BINARY, "-xn", "--must-exist", name}).find(" nbd0\n"),
              std::string::npos);
    EXPECT_NE(succeed({BLKSCOPE_BINARY, "stats", name}).find("nbd0"), std::string::npos);
    const std::string other = "nbd0@" + std::to_string(getpid());
    EXPECT_EQ(run({IOSTAT_BINARY, "-xn", "--must-exist", other}).status, 2);
    EXPECT_NE(run({BLKSCOPE_BINARY, "stats", other}).status, 0);
}

TEST_F(Check, ThereIsNothingToMeasureOnAnIdleDeviceOrAMissingOne) {
    serve("memory:1M");
    const CommandResult idle = check({"--for", "1ms", "p99(nbd0) < 5s"});
    EXPECT_EQ(idle.status, 4);
    EXPECT_EQ(idle.output, "nothing to measure: p99(nbd0) < 5s: nbd0 had no such request\n");
    EXPECT_EQ(check({"--for", "1ms", "errors(nbd7) == 0"}).status, 4);
    EXPECT_EQ(check({"--for", "1ms", "errors(nbd0) == 0", "rate(nbd0) == 0/s"}).status, 0);
    const std::string before = report();
    stop_server();
    EXPECT_EQ(check({"--since", before, "errors(nbd0) == 0"}).status, 4);
}

// The socket of a killed server is still there. A server that has ended is no silent one.
TEST_F(Check, AServerThatDoesNotAnswerIsNotMeasuredAndAnEndedOneIsNoServer) {
    serve("memory:1M");
    const std::string healthy = "errors(nbd*) == 0";
    auto other = serve_beside("memory:1M", "other");
    const std::string socket = path(std::to_string(other->pid()) + ".sock");
    const std::string line = "nothing to measure: " + socket + " could not be read\n";
    EXPECT_EQ(check({"--for", "1ms", healthy}).status, 0);
    const auto reported = [&](const std::string& command) {
        const CommandResult result = run({BLKSCOPE_BINARY, "report", "-o", path("run.json"),
                                          "--fail-unless", healthy, "--", "sh", "-c", command});
        EXPECT_NE(result.output.find(line), std::string::npos) << result.output;
        return result.status;
    };
    EXPECT_EQ(reported("kill -STOP " + std::to_string(other->pid())), 125);
    EXPECT_EQ(reported("true"), 125);  // in both looks
    const CommandResult measured = check({"--for", "1ms", healthy});
    EXPECT_EQ(measured.status, 4);
    EXPECT_NE(measured.output.find(line), std::string::npos) << measured.output;
    EXPECT_NE(measured.output.find("true: errors(nbd*) == 0: nbd0 0"), std::string::npos);
    const CommandResult saved = check({"--save", path("before.json")});
    EXPECT_EQ(saved.status, 4);
    EXPECT_NE(saved.output.find(socket + " could not be read"), std::string::npos) << saved.output;
    other->signal(SIGKILL);
    other->wait();
    EXPECT_TRUE(std::filesystem::exists(socket));
    EXPECT_EQ(check({"--for", "1ms", healthy}).status, 0);
}

// Answers each reader as no provider does. Without an answer it closes the connection.
class FalseProvider {
  public:
    FalseProvider(const std::string& path, std::string answer)
        : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(listen(listener_.get(), 16), 0);
        thread_ = std::thread([this] { serve(); });
    }
    ~FalseProvider() {
        shutdown(listener_.get(), SHUT_RDWR);
        thread_.join();
    }
    FalseProvider& operator=(FalseProvider&&) = delete;

  private:
    void serve() const {
        for (;;) {
            const Descriptor reader(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!reader.is_open()) return;
            if (answer_.empty()) continue;
            send(reader.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
            std::array<char, 64> request;
            while (recv(reader.get(), request.data(), request.size(), 0) > 0) {
            }
        }
    }

    Descriptor listener_;
    std::string answer_;
    std::thread thread_;
};

TEST_F(Check, AProviderThatAnswersFalselyIsToldOnceAndIsNoSuccess) {
    serve("memory:1M");
    const std::string socket = path(std::to_string(getpid()) + ".sock");
    const std::string healthy = "errors(nbd0) == 0";
    const std::vector<std::pair<std::string, std::string>> answers{
        {std::string(64, '\xff'), "sent an invalid reply"}, {"", "closes its connections"}};
    for (const auto& [answer, what] : answers) {
        std::filesystem::remove(socket);
        const FalseProvider provider(socket, answer);
        const CommandResult measured = check({"--for", "1ms", healthy});
        EXPECT_EQ(measured.status, 4);
        EXPECT_EQ(measured.output, "blkscope: " + socket + " " + what +
                                       "; its statistics are left out\n"
                                       "true: errors(nbd0) == 0: nbd0 0, 0 requests\n"
                                       "nothing to measure: " +
                                       socket + " could not be read\n");
        EXPECT_EQ(check({"--save", path("before.json")}).status, 4);
        const CommandResult reported = run({BLKSCOPE_BINARY, "report", "-o", path("run.json"),
                                            "--fail-unless", healthy, "--", "true"});
        EXPECT_EQ(reported.status, 125) << reported.output;
    }
}

// The run directory is no directory any more.
TEST_F(Check, AReportWithoutItsLastLookIsNoSuccess) {
    serve("memory:1M");
    const std::string here = std::filesystem::path(path("socket")).parent_path();
    const std::string away = here + ".away";
    const CommandResult reported =
        run({BLKSCOPE_BINARY, "report", "-o", "/dev/null", "--fail-unless", "errors(nbd0) == 0",
             "--", "sh", "-c", "sleep 0.3; mv " + here + " " + away + "; touch " + here});
    std::filesystem::remove(here);
    std::filesystem::rename(away, here);
    EXPECT_EQ(reported.status, 125) << reported.output;
}

TEST_F(Check, AReportWithoutItsFirstLookIsNoSuccess) {
    serve("memory:1M");
    const std::string here = std::filesystem::path(path("socket")).parent_path();
    const std::string away = here + ".away";
    const std::string back = "rm " + here + "; mv " + away + " " + here + "; sleep 0.3";
    const CommandResult reported =
        run({"sh", "-c",
             "mv " + here + " " + away + "; touch " + here +
                 "; " BLKSCOPE_BINARY
                 " report -o /dev/null --fail-unless 'errors(nbd0) == 0' -- sh -c '" +
                 back + "'"});
    EXPECT_EQ(reported.status, 125) << reported.output;
    EXPECT_NE(reported.output.find("true: errors(nbd0) == 0"), std::string::npos);
}

TEST_F(Check, AnEmptyFirstLookHasATime) {
    const std::string before = report();
    serve("memory:1M");
    EXPECT_EQ(check({"--since", before, "count(nbd0) == 0"}).status, 0);
    const std::string line = R"({"schema":"blockdev.iostat/1","since_creation":true,)"
                             R"("snaptime_ns":null,"devices":[]})";
    std::ofstream(path("empty.json")) << line;
    const CommandResult refused = check({"--since", path("empty.json"), "count(nbd0) == 0"});
    EXPECT_EQ(refused.status, 2) << refused.output;
}

TEST_F(Check, WhatIsMalformedIsToldInOneLine) {
    serve("memory:1M");
    const std::vector<std::vector<std::string>> all{
        {"--for", "1ms", "p98(nbd0) < 5ms"},
        {"--for", "1ms", "p99(nbd0) < 5"},
        {"--for", "1ms", "count(nbd0) == 0", ""},
        {"--for", "5", "count(nbd0) == 0"},
        {"count(nbd0) == 0"},
        {"--for", "1ms"},
        {"--for", "1ms", "--since", report(), "count(nbd0) == 0"},
        {"--since", path("server.log"), "count(nbd0) == 0"},
        {"--since", path("nothing"), "count(nbd0) == 0"},
        {"--save", path("again"), "count(nbd0) == 0"},
        {"--save", path("again"), "--for", "1ms"}};
    for (const auto& arguments : all) {
        const CommandResult result = check(arguments);
        EXPECT_EQ(result.status, 2) << result.output;
        EXPECT_TRUE(result.output.starts_with("blkscope: ")) << result.output;
        EXPECT_EQ(result.output.find('\n'), result.output.size() - 1) << result.output;
    }
}

}  // namespace
}  // namespace blkscope::test
