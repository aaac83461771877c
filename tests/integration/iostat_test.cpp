// The real iostat beside the real server: what it prints, and that it outlives what it reports on.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

constexpr const char* header =
    "                    extended device statistics              \n"
    "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n";

/// The lines of a report by `iostat -xn`, by column.
struct Line {
    double reads, writes, kreads, kwrites, wait, actv, wsvc_t, asvc_t, w_percent, b_percent;
    std::string device;
};

std::vector<Line> device_lines(const std::string& output) {
    std::vector<Line> lines;
    std::istringstream in(output);
    for (std::string text; std::getline(in, text);) {
        std::istringstream words(text);
        Line line{};
        words >> line.reads >> line.writes >> line.kreads >> line.kwrites >> line.wait >>
            line.actv >> line.wsvc_t >> line.asvc_t >> line.w_percent >> line.b_percent >>
            line.device;
        if (words) lines.push_back(line);
    }
    return lines;
}

size_t occurrences(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

/// A client that reads without a pause until the connection fails or it is told to stop.
class Load {
  public:
    explicit Load(const std::string& uri)
        : client_(uri), thread_([this] {
              while (!stop_ && error_ == 0) {
                  error_ = client_.try_read(4096 * (reads_ % 256), 4096);
                  if (error_ == 0) ++reads_;
              }
          }) {}
    ~Load() { stop(); }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    void stop() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }
    [[nodiscard]] uint64_t reads() const { return reads_; }
    [[nodiscard]] int error() const { return error_; }

  private:
    Client client_;
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> reads_{0};
    std::atomic<int> error_{0};
    std::thread thread_;
};

class Iostat : public ServedDevice {
  protected:
    CommandResult iostat(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), IOSTAT_BINARY);
        return run(arguments);
    }
};

TEST_F(Iostat, TheHeaderIsTheOneThatScriptsKnow) {
    serve("memory:1M");
    const CommandResult report = iostat({"-xn", "nbd0"});
    EXPECT_EQ(report.status, 0);
    EXPECT_EQ(report.output,
              std::string(header) +
                  "    0.0    0.0    0.0    0.0  0.0  0.0    0.0    0.0   0   0 nbd0\n");
}

TEST_F(Iostat, RatesUnderLoadAreThoseOfTheKstats) {
    serve(make_image("disk.img", 1 << 20));
    const kstat_io_t before = read_io();
    Load load(uri());
    ASSERT_TRUE(eventually([&] { return load.reads() > 100; }));
    const CommandResult reports = iostat({"-xn", "nbd0", "1", "3"});
    load.stop();
    const kstat_io_t after = read_io();
    EXPECT_EQ(reports.status, 0);
    EXPECT_EQ(occurrences(reports.output, header), 3u);
    const auto lines = device_lines(reports.output);
    ASSERT_EQ(lines.size(), 3u) << reports.output;
    for (size_t i = 1; i < lines.size(); ++i) {
        EXPECT_GT(lines[i].reads, 0);
        EXPECT_EQ(lines[i].writes, 0);
        EXPECT_NEAR(lines[i].kreads, lines[i].reads * 4, 0.5);  // each of 4 KiB
        EXPECT_LE(lines[i].actv, 1.05);                         // one at a time, rounded
        EXPECT_LE(lines[i].b_percent, 100);
        EXPECT_NEAR(lines[i].b_percent, lines[i].actv * 100, 6);
    }
    // The two intervals, a second each, lie within the window of the two readings.
    EXPECT_LE(lines[1].reads + lines[2].reads, (after.reads - before.reads) * 1.02);
    EXPECT_EQ(after.reads - before.reads, load.reads());
}

TEST_F(Iostat, IdleDevicesAreLeftOutOnDemand) {
    serve("busy=memory:1M", {"idle=memory:1M"});
    Load load(uri("busy"));
    const std::string both = iostat({"-xn", "nbd0", "nbd1", "1", "2"}).output;
    EXPECT_EQ(device_lines(both).size(), 4u) << both;
    const std::string busy = iostat({"-xnz", "nbd0", "nbd1", "1", "2"}).output;
    for (const Line& line : device_lines(busy)) EXPECT_EQ(line.device, "nbd0") << busy;
    EXPECT_EQ(device_lines(busy).size(), 2u) << busy;
}

TEST_F(Iostat, AnOperandChoosesTheDevice) {
    serve("one=memory:1M", {"two=memory:1M"});
    const auto lines = device_lines(iostat({"-xn", "nbd1"}).output);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].device, "nbd1");
}

TEST_F(Iostat, AnUnknownDeviceHasNoLine) {
    serve("memory:1M");
    const CommandResult report = iostat({"-xn", "nbd7"});
    EXPECT_EQ(report.status, 0);
    EXPECT_EQ(report.output, "iostat: no device named nbd7 in " + folder_.string() +
                                 "; 'blkscope list' shows those that are served\n" + header);
}

TEST_F(Iostat, AnUnknownDeviceBesideAKnownOneIsToldOfOnce) {
    serve("one=memory:1M", {"two=memory:1M"});
    Process program({IOSTAT_BINARY, "-xn", "nbd1", "nbd7", "nbd0", "1", "2"}, path("out"),
                    path("errors"));
    EXPECT_EQ(program.wait(), 0);
    EXPECT_EQ(device_lines(program.output()).size(), 4u) << program.output();
    std::ifstream in(path("errors"));
    const std::string said{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(said, "iostat: no device named nbd7 in " + folder_.string() +
                        "; 'blkscope list' shows those that are served\n");
}

// With -l there may be no place for a device that is there.
TEST_F(Iostat, ADeviceWithoutAPlaceIsNotMissing) {
    serve("one=memory:1M", {"two=memory:1M"});
    const CommandResult report = iostat({"-xn", "--must-exist", "-l", "1", "nbd0", "nbd1"});
    EXPECT_EQ(report.status, 0);
    EXPECT_EQ(occurrences(report.output, "no device named"), 0u) << report.output;
}

TEST_F(Iostat, AnUnknownDeviceIsAnErrorWhereItMustExist) {
    serve("memory:1M");
    const std::string there = "; 'blkscope list' shows those that are served\n";
    const CommandResult report = iostat({"-xn", "--must-exist", "nbd0", "nbd7", "nbd8", "1", "1"});
    EXPECT_EQ(report.status, 2);
    EXPECT_EQ(report.output, "iostat: no device named nbd7 or nbd8 in " + folder_.string() + there);
    const CommandResult one = iostat({"-xn", "--must-exist", "nbd0", "nbd9"});
    EXPECT_EQ(one.status, 2);
    EXPECT_EQ(one.output, "iostat: no device named nbd9 in " + folder_.string() + there);
    EXPECT_EQ(iostat({"-xn", "--must-exist", "nbd0"}).status, 0);
    EXPECT_EQ(iostat({"-j", "--must-exist", "nbd7"}).status, 2);
}

// The measured server is killed: the figures of a run in CI would be those of half a run.
TEST_F(Iostat, ADeviceThatGoesIsAnErrorWhereItMustExist) {
    serve("memory:1M");
    Process process({IOSTAT_BINARY, "-xn", "--must-exist", "nbd0", "1"}, path("iostat.log"));
    ASSERT_TRUE(eventually([&] { return process.output().find("nbd0") != std::string::npos; }));
    server_->signal(SIGKILL);
    EXPECT_EQ(process.wait(), 2);
    EXPECT_NE(process.output().find("iostat: no device named nbd0 in "), std::string::npos)
        << process.output();
}

TEST_F(Iostat, TheMachinesOwnDisksAreThereWithoutAServer) {
    const CommandResult report = iostat({"-xn"});
    EXPECT_EQ(report.status, 0);
    EXPECT_EQ(occurrences(report.output, header), 1u);
    for (const Line& line : device_lines(report.output))
        EXPECT_TRUE(std::filesystem::exists("/sys/block/" + line.device) ||
                    line.device.rfind("knbd", 0) == 0)
            << line.device;
}

TEST_F(Iostat, WithoutAServerItSaysWhereItLookedForTheDevice) {
    Process program({IOSTAT_BINARY, "-xn", "nbd0", "nbd1", "1", "2"}, path("out"), path("errors"));
    EXPECT_EQ(program.wait(), 0);
    EXPECT_EQ(program.output(), std::string(header) + header);
    std::ifstream in(path("errors"));
    std::string said;
    std::getline(in, said);
    EXPECT_EQ(said, "iostat: no device named nbd0 or nbd1 in " + folder_.string() +
                        "; 'blkscope list' shows those that are served");
    EXPECT_EQ(in.get(), std::ifstream::traits_type::eof());
}

TEST_F(Iostat, GoesOnWhenTheServerIsKilledAndFindsTheNextOne) {
    const std::string image = make_image("disk.img", 1 << 20);
    serve(image);
    Process iostat({IOSTAT_BINARY, "-xn", "1"}, path("iostat.log"));
    Load load(uri());
    ASSERT_TRUE(eventually([&] { return device_lines(iostat.output()).size() >= 2; }));
    ASSERT_TRUE(eventually([&] { return load.reads() > 0; }));
    server_->signal(SIGKILL);
    EXPECT_EQ(server_->wait(), 128 + SIGKILL);
    ASSERT_TRUE(eventually([&] { return load.error() != 0; }));
    EXPECT_TRUE(eventually([&] { return occurrences(iostat.output(), "<<disk removed: nbd0>>"); }))
        << iostat.output();
    serve(image);
    EXPECT_EQ(server_->output(), "nbd0 " + uri("disk.img") + "\n");
    EXPECT_TRUE(eventually([&] { return occurrences(iostat.output(), "<<disk added: nbd0>>"); }))
        << iostat.output();
    EXPECT_TRUE(iostat.running());
    EXPECT_EQ(Client(uri()).try_read(0, 4096), 0);
}

TEST_F(Iostat, CtrlCEndsItBySigint) {
    serve("memory:1M");
    Process iostat({IOSTAT_BINARY, "-xn", "nbd0", "60"}, path("iostat.log"));
    ASSERT_TRUE(eventually([&] { return device_lines(iostat.output()).size() == 1; }));
    iostat.signal(SIGINT);
    EXPECT_EQ(iostat.wait(), 128 + SIGINT);
}

/// The text from a pipe until it ends with a newline, or until a limit far below 60 s.
std::string read_report(int pipe) {
    std::string report;
    pollfd readable{.fd = pipe, .events = POLLIN, .revents = 0};
    while (report.empty() || report.back() != '\n') {
        std::array<char, 4096> bytes{};
        if (poll(&readable, 1, 20'000) <= 0) break;
        const ssize_t count = read(pipe, bytes.data(), bytes.size());
        if (count <= 0) break;
        report.append(bytes.data(), static_cast<size_t>(count));
    }
    return report;
}

TEST_F(Iostat, IntoAPipeEachReportComesWhenItIsDue) {
    serve("memory:1M");
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    const int pipe = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(pipe, 0);
    Process iostat({IOSTAT_BINARY, "-xn", "nbd0", "60", "2"}, path("pipe"));
    const std::string report = read_report(pipe);
    EXPECT_EQ(device_lines(report).size(), 1u) << report;
    EXPECT_EQ(report.compare(0, std::string(header).size(), header), 0) << report;
    EXPECT_TRUE(iostat.running());
    close(pipe);
}

}  // namespace
}  // namespace blkscope::test
