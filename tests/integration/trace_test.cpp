// Recorded requests, as the command gets them from a server and as other programs read them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

using Row = std::map<std::string, std::string>;

class Traced : public ServedDevice {
  protected:
    std::string blkscope(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), BLKSCOPE_BINARY);
        return succeed(arguments);
    }
    CommandResult try_blkscope(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), BLKSCOPE_BINARY);
        return run(arguments);
    }

    static std::vector<std::string> split(const std::string& line, char separator) {
        std::vector<std::string> parts;
        std::istringstream in(line);
        for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
        return parts;
    }

    static std::vector<Row> rows_of(const std::string& csv) {
        std::istringstream lines(csv);
        std::string line;
        std::getline(lines, line);
        const std::vector<std::string> names = split(line, ',');
        std::vector<Row> rows;
        while (std::getline(lines, line)) {
            const std::vector<std::string> values = split(line, ',');
            Row row;
            for (size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
                row[names[i]] = values[i];
            }
            rows.push_back(row);
        }
        return rows;
    }
    static int64_t number(const Row& row, const std::string& name) {
        return std::stoll(row.at(name));
    }

    /// Each request has a place of its own, because btt pairs events by their sector.
    void do_requests(Client& client) {
        for (uint64_t i = 0; i < 30; ++i) {
            ASSERT_EQ(client.try_read(i * 8192, 4096), 0);
            ASSERT_EQ(client.try_write(i * 8192 + 4096, 4096, 'x', i % 2 ? LIBNBD_CMD_FLAG_FUA : 0),
                      0);
        }
        ASSERT_EQ(nbd_flush(client.get(), 0), 0);
    }

    /// Saves the trace when it has `requests`. The last reply is recorded a little after the client
    /// has it.
    std::string save(size_t requests) {
        const std::string file = path("trace.bin");
        const auto complete = [&] {
            blkscope({"trace", "nbd0", "--format", "ours", "-o", file});
            return rows_of(blkscope({"trace", "--read", file})).size() == requests;
        };
        EXPECT_TRUE(eventually(complete));
        return file;
    }

    std::string content_of(const std::string& file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }
};

// The header says where the model is, and the prediction of the trace goes on from there.
TEST_F(Traced, AModelledTraceIsPredictedByItsHeader) {
    serve("memory:1M",
          {"--model", "all=const:100us,servers=1", "--queue-depth", "1", "--seed", "5"});
    Client client(uri());
    do_requests(client);
    const std::string file = save(61);
    const auto report =
        nlohmann::json::parse(blkscope({"predict", file, "--closed", "1", "--json"}));
    EXPECT_EQ(report.at("schema"), "blkscope.predict/1");
    EXPECT_EQ(report.at("seed"), 5);
    EXPECT_EQ(report.at("queue_depth"), 1);
    EXPECT_EQ(report.at("size_bytes"), 1 << 20);
    const auto& run = report.at("runs").at(0);
    EXPECT_EQ(run.at("requests"), 61);
    EXPECT_EQ(run.at("device").at("counters").at("reads"), 30);
    EXPECT_EQ(run.at("device").at("counters").at("rlentime_ns"), 7'500'000);
    EXPECT_EQ(report.at("recorded").at("counters").at("writes"), 30);
    std::ofstream(path("cut")) << content_of(file).substr(0, 100);
    const CommandResult cut = try_blkscope({"predict", path("cut")});
    EXPECT_EQ(cut.status, 2);
    EXPECT_NE(cut.output.find("cut off"), std::string::npos) << cut.output;
}

TEST_F(Traced, ASavedTraceHasEachRequestWithItsStages) {
    serve("memory:1M", {"--model", "write=const:2ms"});
    Client client(uri());
    do_requests(client);
    const std::vector<Row> rows = rows_of(blkscope({"trace", "--read", save(61)}));
    ASSERT_EQ(rows.size(), 61u);
    for (size_t i = 0; i < 60; ++i) {
        const Row& row = rows[i];
        EXPECT_EQ(row.at("op"), i % 2 == 0 ? "read" : "write");
        EXPECT_EQ(row.at("client"), "client-1");
        EXPECT_EQ(row.at("device"), "nbd0");
        EXPECT_EQ(number(row, "offset"), static_cast<int64_t>(i) * 4096);
        EXPECT_EQ(number(row, "bytes"), 4096);
        EXPECT_EQ(row.at("flags"), i % 4 == 3 ? "fua" : "");
        EXPECT_EQ(number(row, "drawn_ns"), i % 2 == 0 ? 0 : 2'000'000);
        const int64_t least = i % 2 == 0 ? 0 : 1'900'000;
        EXPECT_GE(number(row, "finished_ns") - number(row, "started_ns"), least);
        int64_t before = 1;
        for (const char* stamp :
             {"received_ns", "queued_ns", "started_ns", "finished_ns", "replied_ns"}) {
            EXPECT_GE(number(row, stamp), before) << stamp;
            before = number(row, stamp);
        }
    }
    EXPECT_EQ(rows[60].at("op"), "flush");
    EXPECT_EQ(rows_of(blkscope({"trace", "nbd0", "--last", "3"})).size(), 3u);
}

// The sums of the stages in the kstats are those of the recorded requests.
TEST_F(Traced, TheStagesAreThoseOfTheQueues) {
    serve("memory:1M", {"--queue-depth", "2"});
    Client client(uri());
    do_requests(client);
    int64_t wait = 0;
    int64_t service = 0;
    for (const Row& row : rows_of(blkscope({"trace", "--read", save(61)}))) {
        if (row.at("op") == "flush") continue;
        wait += number(row, "started_ns") - number(row, "queued_ns");
        service += number(row, "finished_ns") - number(row, "started_ns");
    }
    const kstat_io_t io = read_io();
    // Each stamp is scaled by itself.
    EXPECT_NEAR(static_cast<double>(wait), static_cast<double>(io.wlentime), 130);
    EXPECT_NEAR(static_cast<double>(service), static_cast<double>(io.rlentime), 130);
}

TEST_F(Traced, BttFindsTheWaitAndTheServiceOfTheSameRequests) {
    NEEDS("blkparse");
    NEEDS("btt");
    serve("memory:1M", {"--limit", "iops=2000", "--model", "all=const:200us"});
    Client client(uri());
    do_requests(client);
    const std::string file = save(61);
    double wait = 0;
    double service = 0;
    const std::vector<Row> rows = rows_of(blkscope({"trace", "--read", file}));
    for (const Row& row : rows) {
        if (row.at("op") == "flush") continue;
        wait += static_cast<double>(number(row, "started_ns") - number(row, "queued_ns"));
        service += static_cast<double>(number(row, "finished_ns") - number(row, "started_ns"));
    }
    blkscope({"trace", "--read", file, "--format", "blktrace", "-o", path("requests")});
    succeed({"blkparse", "-q", "-D", folder_.string(), "-i", "requests", "-d", path("merged.bin")});
    // btt writes further files where it runs.
    const std::string report =
        succeed({"env", "--chdir", folder_.string(), "btt", "-i", path("merged.bin")});
    // I2D  MIN AVG MAX N, in seconds
    const auto mean_of = [&](const std::string& stage) {
        std::istringstream line(report.substr(report.find("\n" + stage) + 1));
        std::string name;
        double least = 0;
        double mean = -1;
        double most = 0;
        int64_t count = 0;
        line >> name >> least >> mean >> most >> count;
        EXPECT_EQ(count, 60) << report;
        return mean * 1e9;
    };
    EXPECT_NEAR(mean_of("I2D"), wait / 60, 1) << report;
    EXPECT_NEAR(mean_of("D2C"), service / 60, 1) << report;
}

TEST_F(Traced, PerfettosFileHasMatchedPairs) {
    serve("memory:1M");
    Client client(uri());
    do_requests(client);
    const auto events =
        nlohmann::json::parse(blkscope({"trace", "--read", save(61), "--format", "perfetto"}));
    std::map<std::string, int> open;
    size_t begun = 0;
    for (const auto& event : events) {
        if (event.at("ph") == "M") continue;
        int& state = open[event.at("id").dump() + event.at("name").get<std::string>()];
        state += event.at("ph") == "b" ? 1 : -1;
        EXPECT_TRUE(state == 0 || state == 1);
        begun += event.at("ph") == "b" ? 1 : 0;
    }
    EXPECT_EQ(begun, 61u * 4);
    for (const auto& [stage, count] : open) EXPECT_EQ(count, 0) << stage;
}

TEST_F(Traced, FioReplaysItsLogs) {
    NEEDS("fio");
    serve("memory:1M");
    Client client(uri());
    do_requests(client);
    const std::string file = save(61);
    const std::string image = make_image("replayed.img", 1 << 20);
    for (const char* format : {"fio", "fio3"}) {
        const std::string log = path(format);
        blkscope({"trace", "--read", file, "--format", format, "-o", log});
        const std::string said =
            succeed({"fio", "--name=replay", "--ioengine=psync", "--read_iolog=" + log,
                     "--filename=" + image, "--replay_redirect=" + image, "--replay_no_stall=1",
                     "--output-format=json"});
        const auto report = nlohmann::json::parse(said.substr(said.find('{')));
        EXPECT_EQ(report["jobs"][0]["read"]["total_ios"], 30) << format;
        EXPECT_EQ(report["jobs"][0]["write"]["total_ios"], 30) << format;
    }
}

TEST_F(Traced, FromNowOnIsWhatComesAfterwards) {
    serve("memory:1M");
    Client client(uri());
    do_requests(client);
    save(61);
    std::atomic<bool> stop{false};
    std::thread reader([&] {
        Client another(uri());
        while (!stop) EXPECT_EQ(another.try_read(512, 512), 0);
    });
    std::vector<Row> rows;
    EXPECT_TRUE(eventually([&] {
        rows = rows_of(blkscope({"trace", "nbd0", "--for", "100ms"}));
        return !rows.empty();
    }));
    stop = true;
    reader.join();
    for (const Row& row : rows) ASSERT_EQ(number(row, "offset"), 512);
}

TEST_F(Traced, WhatCameBeforeTheServerEndedIsKept) {
    serve("memory:1M");
    Process trace({BLKSCOPE_BINARY, "trace", "nbd0", "--for", "60s", "-o", path("trace.csv")},
                  path("trace.out"));
    Client client(uri());
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(client.try_read(512, 512), 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    server_->signal(SIGKILL);
    EXPECT_EQ(trace.wait(), 1);
    EXPECT_NE(trace.output().find(" requests written\nblkscope: "), std::string::npos)
        << trace.output();
    std::ifstream file(path("trace.csv"));
    const std::vector<Row> rows = rows_of({std::istreambuf_iterator<char>(file), {}});
    EXPECT_GT(rows.size(), 50u);
    for (const Row& row : rows) ASSERT_EQ(number(row, "offset"), 512);
}

TEST_F(Traced, SlowNamesARequestThatHangsAndItsStage) {
    serve("memory:1M", {"--fault", "read:hang"});
    std::atomic<bool> answered{false};
    std::thread reader([&] {
        Client client(uri());
        EXPECT_EQ(client.try_read(4096, 512), 0);
        answered = true;
    });
    std::string report;
    EXPECT_TRUE(eventually([&] {
        report = blkscope({"slow", "nbd0", "--over", "10ms", "--wide"});
        return report.find("\nnow ") != std::string::npos;
    })) << report;
    std::istringstream line(report.substr(report.find("\nnow ") + 1));
    std::vector<std::string> words;
    for (std::string word; line >> word && words.size() < 11;) words.push_back(word);
    ASSERT_EQ(words.size(), 11u) << report;
    EXPECT_EQ(words[1], "client-1");
    EXPECT_EQ(words[2], "read");
    EXPECT_EQ(words[3], "4096");
    EXPECT_EQ(words[7].front(), '>') << report;  // its service goes on
    EXPECT_EQ(words[10], "service");
    EXPECT_FALSE(answered);
    blkscope({"fault", "nbd0", "clear"});
    reader.join();
    EXPECT_TRUE(eventually([&] {
        report = blkscope({"slow", "nbd0", "--over", "10ms", "--wide"});
        return report.find(" ended\n") != std::string::npos;
    })) << report;
    EXPECT_EQ(report.find("\nnow "), std::string::npos) << report;
    EXPECT_EQ(blkscope({"slow", "nbd0", "--over", "3000s"}),
              "no request of the last minute took 3000s, and none is under way for so long\n");
}

// The server closes a connection that rests for five seconds.
TEST_F(Traced, SlowGoesOnAfterALongStop) {
    serve("memory:1M", {"--fault", "read:hang=60s;count=1", "--fault", "read:delay=const:20ms"});
    Client hangs(uri());
    std::array<char, 512> sector;
    ASSERT_GE(nbd_aio_pread(hangs.get(), sector.data(), sector.size(), 65536,
                            nbd_completion_callback{}, 0),
              0);
    Process watch({BLKSCOPE_BINARY, "slow", "nbd0", "--over", "10ms", "--watch"}, path("watch"));
    Client client(uri());
    // In each look, `>` is in the line of the request that hangs.
    const auto looks = [&] { return std::ranges::count(watch.output(), '>'); };
    const auto sees_a_read_of = [&](uint64_t offset) {
        return eventually([&] {
            EXPECT_EQ(client.try_read(offset, 512), 0);
            return watch.output().find(" " + std::to_string(offset) + " ") != std::string::npos;
        });
    };
    EXPECT_TRUE(sees_a_read_of(4096)) << watch.output();
    watch.signal(SIGSTOP);
    const auto before = looks();
    std::this_thread::sleep_for(std::chrono::milliseconds(5500));
    watch.signal(SIGCONT);
    const auto continued = std::chrono::steady_clock::now();
    EXPECT_TRUE(sees_a_read_of(8192)) << watch.output();
    const auto seconds = std::chrono::steady_clock::now() - continued;
    EXPECT_LE(looks() - before, 2 + seconds / std::chrono::seconds(1)) << watch.output();
    watch.signal(SIGINT);
    EXPECT_EQ(watch.wait(), 0) << watch.output();
}

// The server keeps 32 of each second.
TEST_F(Traced, SlowShowsEachOfManyOnce) {
    serve("memory:1M", {"--fault", "read:delay=const:35ms"});
    Process watch({BLKSCOPE_BINARY, "slow", "nbd0", "--over", "10ms", "--watch"}, path("watch"));
    Client client(uri());
    constexpr uint64_t reads = 130;
    for (uint64_t i = 0; i < reads; ++i) ASSERT_EQ(client.try_read(i * 4096, 512), 0);
    const auto offsets = [&] {
        std::map<std::string, int> shown;
        std::istringstream lines(watch.output());
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string when;
            std::string who;
            std::string op;
            std::string offset;
            words >> when >> who >> op >> offset;
            if (op == "read" && when != "now") ++shown[offset];
        }
        return shown;
    };
    EXPECT_TRUE(eventually([&] { return offsets().size() == reads; })) << watch.output();
    for (const auto& [offset, times] : offsets()) EXPECT_EQ(times, 1) << offset;
    watch.signal(SIGINT);
    EXPECT_EQ(watch.wait(), 0);
}

TEST_F(Traced, ExplainNamesTheLargestPart) {
    serve("memory:1M", {"--model", "all=const:5ms"});
    std::atomic<bool> stop{false};
    std::thread reader([&] {
        Client client(uri());
        while (!stop) EXPECT_EQ(client.try_read(0, 512), 0);
    });
    std::string report;
    EXPECT_TRUE(eventually([&] {
        report = blkscope({"explain", "nbd0", "0.1"});
        return report.find("is service: the device has a model") != std::string::npos;
    })) << report;
    stop = true;
    reader.join();
    EXPECT_NE(report.find("no disk"), std::string::npos) << report;
    const CommandResult idle = try_blkscope({"explain", "nbd9", "0.1"});
    EXPECT_EQ(idle.status, 1);
}

TEST_F(Traced, ADamagedFileIsRefusedInOneLine) {
    serve("memory:1M");
    Client client(uri());
    do_requests(client);
    std::string content = content_of(save(61));
    const auto refused = [&](const std::string& bytes) {
        std::ofstream(path("damaged"), std::ios::binary) << bytes;
        const CommandResult result = try_blkscope({"trace", "--read", path("damaged")});
        EXPECT_EQ(result.status, 1);
        return result.output;
    };
    EXPECT_EQ(refused(content.substr(0, content.size() / 2)),
              "blkscope: " + path("damaged") + ": cut off: it should have 61 requests\n");
    content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
    EXPECT_EQ(refused(content), "blkscope: " + path("damaged") +
                                    ": damaged: its requests do not fit their checksum\n");
}

TEST_F(Traced, WithoutARecorderThereIsNothingToShow) {
    serve("memory:1M", {"--recorder", "0"});
    Client client(uri());
    do_requests(client);
    EXPECT_TRUE(rows_of(blkscope({"trace", "nbd0"})).empty());
    EXPECT_TRUE(rows_of(blkscope({"trace"})).empty());  // of the only device
    EXPECT_EQ(try_blkscope({"trace", "nbd0", "--read", "/dev/null"}).status, 2);
    EXPECT_EQ(try_blkscope({"trace", "nbd0", "--format", "blktrace"}).status, 2);
    EXPECT_EQ(try_blkscope({"trace", "nbd0", "--for", "soon"}).status, 2);
    EXPECT_EQ(try_blkscope({"slow", "nbd0", "--over", "long"}).status, 2);
    EXPECT_EQ(try_blkscope({"trace", "nbd9"}).status, 1);
}

}  // namespace
}  // namespace blkscope::test
