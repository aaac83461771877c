// The server's life: what it refuses to start with, what it leaves behind, how it ends under load.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "raw_client.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

namespace fs = std::filesystem;

constexpr size_t write_bytes = 4096;

class Server : public ServedDevice {
  protected:
    void fill_the_socket(Client& client);

    CommandResult try_to_serve(const std::vector<std::string>& arguments) {
        std::vector<std::string> command{"timeout", "20", BLKSCOPE_BINARY, "serve"};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return run(command);
    }

    /// Starting like this fails with `status`, and one line that says what and why.
    void expect_refusal(const std::vector<std::string>& arguments, int status,
                        const std::string& what) {
        const CommandResult result = try_to_serve(arguments);
        EXPECT_EQ(result.status, status) << result.output;
        EXPECT_EQ(result.output.rfind("blkscope: ", 0), 0u) << result.output;
        EXPECT_NE(result.output.find(what), std::string::npos) << result.output;
        EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
    }

    [[nodiscard]] std::string kstat_socket() const {
        return path(std::to_string(server_->pid()) + ".sock");
    }
};

// ---- What it refuses ----

TEST_F(Server, RefusesWhatItCannotServeInOneLine) {
    const std::string empty = make_image("empty.img", 0);
    fs::create_directory(path("folder"));
    expect_refusal({path("absent.img")}, 1, "absent.img: No such file or directory");
    expect_refusal({path("folder")}, 1, "folder: Is a directory");
    expect_refusal({empty}, 2, "empty.img: it is empty");
    if (geteuid() != 0) {  // root may open anything
        fs::permissions(empty, fs::perms::none);
        expect_refusal({empty}, 1, "Permission denied");
    }
}

TEST_F(Server, RefusesOptionsThatMakeNoSense) {
    const std::string image = make_image("disk.img", mib);
    for (const char* backing : {"memory:12Q", "memory:0", "memory:", "null:-1"}) {
        expect_refusal({backing}, 2, "size");
    }
    expect_refusal({"a=memory:1M", "a=memory:2M"}, 2, "two exports are named 'a'");
    expect_refusal({image, image}, 2, "two exports are named 'disk.img'");
    expect_refusal({}, 2, "backing is required");
    expect_refusal({image, "--no-such-option"}, 2, "--no-such-option");
    expect_refusal({image, "--port", "99999"}, 2, "99999");
    expect_refusal({image, "--queue-depth", "0"}, 2, "--queue-depth");
    expect_refusal({image, "--description", std::string(4097, 'a')}, 2, "at most 4096 bytes");
    expect_refusal({image, "--connections", "2"}, 2, "--attach");
}

TEST_F(Server, PointsToTheHelpOfTheCommandThatWasWrong) {
    struct {
        std::vector<std::string> arguments;
        const char* complaint;
    } const cases[] = {
        {{"serve", "--foo", "x"}, "there is no option '--foo'; see 'blkscope serve --help'"},
        {{"serve", "--quue-depth", "8", "x"},
         "there is no option '--quue-depth'; the nearest is '--queue-depth'; see "
         "'blkscope serve --help'"},
        {{"serve", "--dirct=yes"}, "no option '--dirct'; the nearest is '--direct'"},
        {{"top", "--must-exsit"}, "the nearest is '--must-exist'; see 'blkscope top --help'"},
        {{"--verison"}, "the nearest is '--version'; see 'blkscope --help'"},
        {{"serve", "--queue-depth", "0", "x"}, "1 to 1024; see 'blkscope serve --help'"},
        {{"serve"}, "backing is required; see 'blkscope serve --help'"},
        {{"attach"}, "uri is required; see 'blkscope attach --help'"},
        {{"stats", "--foo"}, "see 'blkscope stats --help'"},
        {{"srv"}, "there is no command 'srv'; the nearest is 'serve'; see 'blkscope --help'"},
        {{"srv", "disk.img", "--direct"}, "there is no command 'srv'; the nearest is 'serve'"},
        {{"help", "srv"}, "there is no command 'srv'; the nearest is 'serve'"},
        {{"srv", "--help"}, "there is no command 'srv'; the nearest is 'serve'"},
        {{"--foo"}, "see 'blkscope --help'"},
        {{}, "see 'blkscope --help'"},
    };
    for (const auto& [arguments, complaint] : cases) {
        std::vector<std::string> command{BLKSCOPE_BINARY};
        command.insert(command.end(), arguments.begin(), arguments.end());
        const CommandResult result = run(command);
        EXPECT_EQ(result.status, 2) << complaint;
        EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1);
        EXPECT_EQ(result.output.rfind("blkscope: usage: ", 0), 0u) << result.output;
        EXPECT_NE(result.output.find(complaint), std::string::npos) << result.output;
    }
}

// A first build has blkscope alone, and serves before the other programs are there.
TEST_F(Server, IsWholeWithoutTheOtherPrograms) {
    const std::string alone = path("blkscope");
    std::filesystem::copy_file(BLKSCOPE_BINARY, alone);
    for (const char* command : {"list", "iostat"}) {
        const std::string program = command == std::string("list") ? "blkscope-tools" : command;
        const CommandResult result = run({alone, command});
        EXPECT_EQ(result.status, 1);
        EXPECT_EQ(result.output, std::string("blkscope: ") + command + ": " + path(program) +
                                     " is not there yet; build or install all of blkscope\n");
    }
    EXPECT_EQ(succeed({alone, "--help"}), succeed({BLKSCOPE_BINARY, "--help"}));
    std::ofstream(path("blkscope-tools")) << "no program";
    const std::string said = run({alone, "list"}).output;
    EXPECT_EQ(said, "blkscope: list: run " + path("blkscope-tools") + ": Permission denied\n");
}

TEST_F(Server, WarnsOfABackingThatIsProbablyNotWhatWasMeant) {
    const std::string image = make_image("vm.qcow2", 1 << 20);
    std::fstream(image, std::ios::in | std::ios::out | std::ios::binary) << "QFI\xfb";
    serve(image, {"memory:999G"});  // the thread sanitizer has no room for more
    const std::string said = server_->output();
    EXPECT_NE(said.find("blkscope: " + image + " is a qcow2 image and is served as raw bytes;"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("blkscope: memory: 999.0 GiB are more than the "), std::string::npos)
        << said;
    EXPECT_EQ(Client(uri("memory")).try_write(uint64_t{900} << 30, 512), 0);
    EXPECT_EQ(stop_server(), 0);
}

TEST_F(Server, WarnsOfSettingsOfClientsThatItDoesNotTellApart) {
    serve("memory:1M", {"--client-by", "none", "--order", "fair", "--client-limit", "iops=10"});
    const std::string said = server_->output();
    for (const char* setting : {"order fair", "client-limit"}) {
        const std::string line =
            std::string("blkscope: memory: ") + setting + " has no effect with client-by none\n";
        EXPECT_NE(said.find(line), std::string::npos) << said;
    }
}

TEST_F(Server, ExplainsEachCommandInEightyColumnsAndWithAnExample) {
    for (const char* command :
         {"",      "serve",  "attach",  "detach", "list", "clients", "explain",     "slow",
          "trace", "replay", "predict", "models", "set",  "fault",   "clear-error", "crash",
          "check", "report", "stats",   "top",    "web"}) {
        std::vector<std::string> arguments{BLKSCOPE_BINARY, "--help"};
        if (*command != '\0') arguments.insert(arguments.begin() + 1, command);
        const std::string help = succeed(arguments);
        std::vector<std::string> in_words{BLKSCOPE_BINARY, "help"};
        if (*command != '\0') in_words.emplace_back(command);
        EXPECT_EQ(succeed(in_words), help);
        std::istringstream lines(help);
        for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
        EXPECT_NE(help.find("Example"), std::string::npos) << help;
        EXPECT_NE(help.find("\n  blkscope "), std::string::npos) << help;
        for (const char* type : {"UINT", "TEXT:", "FLOAT", " in ["}) {
            EXPECT_EQ(help.find(type), std::string::npos) << help;
        }
    }
    const std::string serve = succeed({BLKSCOPE_BINARY, "serve", "--help"});
    EXPECT_NE(serve.find("\n  --queue-depth N         Requests that a device works on at once; "
                         "more wait (1\n                          to 1024; default 128)\n"),
              std::string::npos)
        << serve;
}

// With or without a name server.
TEST_F(Server, SaysWhyAHostIsUnknown) {
    addrinfo* found = nullptr;
    const int error = getaddrinfo("absent.invalid", "10809", nullptr, &found);
    ASSERT_NE(error, 0);
    expect_refusal({"nbd://absent.invalid/"}, 1, gai_strerror(error));
}

TEST_F(Server, RefusesAPlaceWhereItCannotListen) {
    expect_refusal({"memory:1M", "--unix", path("absent/socket")}, 1, "No such file or directory");
    expect_refusal({"memory:1M", "--unix", path(std::string(120, 'x'))}, 1, "File name too long");
    expect_refusal({"memory:1M", "--port", "0", "--bind", "nowhere"}, 2, "nowhere");
    const std::string image = make_image("disk.img", mib);
    expect_refusal({"memory:1M", "--unix", image}, 1, "File exists; choose another path");
    EXPECT_EQ(fs::file_size(image), mib);  // a file is not a stale socket
}

TEST_F(Server, LeavesTheSocketAndThePortOfALiveServerAlone) {
    serve("memory:1M");
    expect_refusal({"memory:1M", "--unix", socket_}, 1, "Address already in use");
    EXPECT_EQ(Client(uri()).try_read(0, 512), 0);
    EXPECT_EQ(stop_server(), 0);
    const std::string server = serve_tcp("memory:1M");
    const std::string port = server.substr(server.rfind(':') + 1);
    expect_refusal({"memory:1M", "--port", port}, 1, "Address already in use");
    EXPECT_EQ(Client(server + "/memory").try_read(0, 512), 0);
}

TEST_F(Server, AttachWithoutTheKernelsDriverSaysWhatToDo) {
    if (fs::exists("/sys/module/nbd")) GTEST_SKIP() << "SKIPPED: this kernel has the nbd driver";
    serve("memory:1M");
    const CommandResult result = run({BLKSCOPE_BINARY, "attach", uri(), "/dev/nbd0"});
    if (fs::exists("/sys/module/nbd")) GTEST_SKIP() << "SKIPPED: attach loaded the nbd driver";
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.output.rfind("blkscope: attach /dev/nbd0: ", 0), 0u) << result.output;
    EXPECT_NE(result.output.find("no nbd driver"), std::string::npos) << result.output;
    EXPECT_NE(result.output.find("modprobe nbd"), std::string::npos) << result.output;
    EXPECT_NE(result.output.find("--ioengine=nbd"), std::string::npos) << result.output;
}

TEST_F(Server, IsNotReadyBeforeItsDeviceIsAttached) {
    if (fs::exists("/sys/module/nbd")) GTEST_SKIP() << "SKIPPED: this kernel has the nbd driver";
    const CommandResult result =
        run({BLKSCOPE_BINARY, "serve", "memory:1M", "--unix", socket_, "--attach", "/dev/nbd0"});
    if (fs::exists("/sys/module/nbd")) GTEST_SKIP() << "SKIPPED: attach loaded the nbd driver";
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.output.rfind("blkscope: attach /dev/nbd0: ", 0), 0u) << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
}

// ---- Beside others, and after them ----

TEST_F(Server, RemovesTheSocketsOfServersThatWereKilled) {
    const auto socket_of = [&](pid_t pid) {
        return path("blkscope-" + std::to_string(pid) + ".nbd");
    };
    const auto live = start_process({BLKSCOPE_BINARY, "serve", "memory:1M"}, "live.log");
    serve_with({"memory:1M"});
    const pid_t killed = server_->pid();
    server_.reset();  // SIGKILL
    ASSERT_TRUE(fs::exists(socket_of(killed)));
    std::ofstream(socket_of(killed) + ".old").flush();
    serve_with({"memory:1M"});
    EXPECT_FALSE(fs::exists(socket_of(killed)));
    EXPECT_TRUE(fs::exists(socket_of(killed) + ".old"));
    EXPECT_TRUE(fs::exists(socket_of(server_->pid())));
    EXPECT_TRUE(fs::exists(socket_of(live->pid())));
    EXPECT_EQ(live->output().find("blkscope:"), std::string::npos) << live->output();
}

TEST_F(Server, ListShowsEveryExportOfEveryServer) {
    serve("one=memory:1M", {"two=" + make_image("disk.img", mib)});
    const auto beside = serve_beside("three=memory:1M", "other");
    Client client(uri("two"));
    const std::string lines[] = {
        "device   clients  backing                  uri\n",
        "nbd0           0  memory                   " + uri("one") + "\n",
        "nbd1           1  " + path("disk.img") + " " + uri("two") + "\n",
        "nbd2           0  memory                   " + uri_at("other", "three") + "\n"};
    EXPECT_EQ(succeed({BLKSCOPE_BINARY, "list"}), lines[0] + lines[1] + lines[2] + lines[3]);
}

TEST_F(Server, ListIsInTheOrderOfDevicesWhicheverServerCameFirst) {
    serve("one=memory:1M");
    const auto beside = serve_beside("two=memory:1M", "other");
    EXPECT_EQ(stop_server(), 0);
    serve("three=memory:1M");  // has nbd0 again
    const std::string list = succeed({BLKSCOPE_BINARY, "list"});
    const size_t first = list.find("\nnbd0 ");
    const size_t second = list.find("\nnbd1 ");
    ASSERT_NE(first, std::string::npos) << list;
    ASSERT_NE(second, std::string::npos) << list;
    EXPECT_LT(first, second) << list;
}

TEST_F(Server, TwoServersHaveDevicesOfTheirOwn) {
    serve("memory:1M");
    const auto beside = serve_beside("memory:2M", "other");
    EXPECT_EQ(server_->output(), "nbd0 " + uri("memory") + "\n");
    EXPECT_EQ(beside->output(), "nbd1 " + uri_at("other", "memory") + "\n");
    ASSERT_EQ(Client(uri_at("other")).try_write(0, 512), 0);
    EXPECT_EQ(read_io("nbd0").writes, 0u);
    EXPECT_EQ(read_io("nbd1").writes, 1u);
    EXPECT_EQ(stop_server(), 0);
    serve("memory:1M");
    EXPECT_EQ(server_->output(), "nbd0 " + uri("memory") + "\n");  // the one that has become free
}

TEST_F(Server, ItsDevicesHaveTheLowestNumbersThatAreFree) {
    serve("memory:1M");
    const auto beside = serve_beside("memory:1M", "other");  // has nbd1
    EXPECT_EQ(stop_server(), 0);
    serve("a=memory:1M", {"b=memory:1M", "c=memory:1M"});
    EXPECT_EQ(server_->output(),
              "nbd0 " + uri("a") + "\nnbd2 " + uri("b") + "\nnbd3 " + uri("c") + "\n");
}

TEST_F(Server, AKilledServersPlaceIsTakenByTheNext) {
    const std::string image = make_image("disk.img", mib);
    serve(image);
    ASSERT_EQ(Client(uri()).try_write(0, 4096, 'k'), 0);
    server_->signal(SIGKILL);
    ASSERT_EQ(server_->wait(), 128 + SIGKILL);
    ASSERT_TRUE(fs::exists(socket_));
    serve(image);
    EXPECT_EQ(server_->output(), "nbd0 " + uri("disk.img") + "\n");
    EXPECT_EQ(Client(uri()).read(0, 4096), std::vector<char>(4096, 'k'));
    EXPECT_EQ(read_io().reads, 1u);
}

// ---- Output that nobody takes ----

TEST_F(Server, AFullDiskBehindTheLogEndsNothing) {
    server_ = std::make_unique<Process>(
        std::vector<std::string>{BLKSCOPE_BINARY, "serve", "memory:1M", "--unix", socket_,
                                 "--handshake-timeout", "1", "--max-handshakes", "1"},
        path("server.log"), "/dev/full");
    ASSERT_TRUE(eventually([&] { return fs::exists(socket_) && !server_->output().empty(); }));
    RawClient(socket_).text(std::string(100, 'y')).send();
    const RawClient makes_room(socket_);
    const RawClient is_too_slow(socket_);
    EXPECT_FALSE(eventually([&] { return !server_->running(); }, std::chrono::milliseconds(1500)));
    succeed({BLKSCOPE_BINARY, "set", "nbd0", "queue-depth=3"});
    EXPECT_EQ(Client(uri()).try_write(0, 512), 0);
    EXPECT_EQ(stop_server(), 0);
}

TEST_F(Server, AFailureThatCannotBeToldIsStillAStatus) {
    const auto status = [&](const std::string& command) {
        return run({"sh", "-c", BLKSCOPE_BINARY " " + command + " 2>/dev/full"}).status;
    };
    EXPECT_EQ(status("serve " + path("absent.img")), 1);
    EXPECT_EQ(status("serve --absent"), 2);
    EXPECT_EQ(status("set nbd0 queue-depth=3"), 1);
}

// A pipe whose reader has stopped.
class UnreadPipe {
  public:
    explicit UnreadPipe(const std::string& path) {
        EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
        end_ = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
        EXPECT_GE(end_, 0);
    }
    ~UnreadPipe() { close(end_); }
    UnreadPipe(const UnreadPipe&) = delete;
    UnreadPipe& operator=(const UnreadPipe&) = delete;

    void fill() const {
        while (write(end_, "x", 1) == 1) {
        }
    }

  private:
    int end_;
};

TEST_F(Server, OutputThatCannotBeWrittenIsNoSuccess) {
    serve("memory:1M");
    const auto status = [&](const std::string& words) { return run({"sh", "-c", words}).status; };
    const std::string command = BLKSCOPE_BINARY;
    for (const std::string words :
         {" list", " list -v", " set nbd0 queue-depth=4", " --help", " help check", " --version"}) {
        EXPECT_EQ(status(command + words + " >/dev/full"), 1) << words;
        EXPECT_EQ(status(command + words + " >&-"), 1) << words;
        EXPECT_EQ(status(command + words + " >/dev/null"), 0) << words;
    }
}

// Without a descriptor 1, the first socket would get this number, and the report would go there.
TEST_F(Server, WhatIsPrintedGoesIntoNoSocketThatTookTheNumber) {
    serve("memory:1M");
    for (const std::string words : {KSTAT_BINARY " -p", IOSTAT_BINARY " -xn",
                                    BLKSCOPE_BINARY " slow nbd0", BLKSCOPE_BINARY " stats nbd0"}) {
        EXPECT_NE(run({"sh", "-c", words + " <&- >&- 2>&-"}).status, 0) << words;
    }
    EXPECT_EQ(Client(uri()).try_read(0, 512), 0);
}

TEST_F(Server, AnUnreadLogHoldsUpNeitherClientsNorTheEnd) {
    const UnreadPipe log(path("log"));
    server_ = std::make_unique<Process>(
        std::vector<std::string>{BLKSCOPE_BINARY, "serve", "memory:1M", "--unix", socket_,
                                 "--max-connections", "1"},
        path("server.log"), path("log"));
    ASSERT_TRUE(eventually([&] { return fs::exists(socket_) && !server_->output().empty(); }));
    log.fill();
    {
        const Client served(uri());
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(RawClient(socket_).closed());
    }
    const auto served = [&] { return run({"timeout", "1", "nbdinfo", uri()}).status == 0; };
    EXPECT_TRUE(eventually(served));
    server_->signal(SIGTERM);
    EXPECT_TRUE(eventually([&] { return !server_->running(); }));
}

TEST_F(Server, AReloadsLinesForAnUnreadPipeAreLostAndNobodyWaits) {
    const UnreadPipe output(path("output"));
    configure(R"({"name": "a", "backing": "memory:1M"})");
    server_ = std::make_unique<Process>(
        std::vector<std::string>{BLKSCOPE_BINARY, "serve", "--config", path("lab.json")},
        path("output"), path("server.log"));
    ASSERT_TRUE(eventually([&] { return run({"nbdinfo", uri("a")}).status == 0; }));
    output.fill();
    configure(R"({"name": "a", "backing": "memory:1M"}, {"name": "b", "backing": "memory:2M"})");
    server_->signal(SIGHUP);
    const auto served = [&] { return run({"timeout", "1", "nbdinfo", uri("b")}).status == 0; };
    EXPECT_TRUE(eventually(served));
    server_->signal(SIGTERM);
    EXPECT_TRUE(eventually([&] { return !server_->running(); }));
}

// ---- Limits of the process ----

TEST_F(Server, AWritePastTheLimitOfFileSizesIsAFullDisk) {
    const std::string image = make_image("disk.img", 8 * mib);
    server_ = start_process({"sh", "-c", "ulimit -f 2048; exec \"$@\"", "sh", BLKSCOPE_BINARY,
                             "serve", "--unix", socket_, image});
    Client client(uri());
    EXPECT_EQ(client.try_write(0, 4096), 0);
    for (const size_t bytes : {size_t{4096}, size_t{256} << 10}) {
        EXPECT_EQ(client.try_write(4 * mib, bytes), ENOSPC);
        EXPECT_EQ(client.try_write(4 * mib, bytes, 'x', LIBNBD_CMD_FLAG_FUA), ENOSPC);
    }
    EXPECT_EQ(client.try_write(4096, 4096), 0);
    EXPECT_EQ(stop_server(), 0);
}

TEST_F(Server, AReportPastTheLimitOfFileSizesIsAFailure) {
    serve("memory:1M");
    std::ofstream(path("report")).flush();
    std::filesystem::resize_file(path("report"), 16 << 20);
    // A shell counts in 512 or 1024 bytes. A sanitizer has a file of its own, of half a MiB.
    const std::string command = "ulimit -f 8192; exec " IOSTAT_BINARY " -xn >> " + path("report");
    EXPECT_EQ(run({"sh", "-c", command}).status, 2);
}

// ---- The end ----

TEST_F(Server, LeavesNothingBehindWhenItEnds) {
    for (const int signal : {SIGTERM, SIGINT}) {
        serve("memory:1M");
        const std::string kstats = kstat_socket();
        ASSERT_TRUE(fs::exists(socket_));
        ASSERT_TRUE(fs::exists(kstats));
        server_->signal(signal);
        EXPECT_EQ(server_->wait(), 0) << server_->output();
        EXPECT_FALSE(fs::exists(socket_));
        EXPECT_FALSE(fs::exists(kstats));
    }
}

/// Keeps writes in flight until the connection ends, each block once, and notes what was answered.
class CountingWriter {
  public:
    CountingWriter(const std::string& uri, uint64_t first, uint64_t blocks)
        : client_(uri), first_(first), blocks_(blocks), answered_(blocks), thread_([this] {
              write_until_the_end();
          }) {}
    ~CountingWriter() { thread_.join(); }
    CountingWriter(const CountingWriter&) = delete;
    CountingWriter& operator=(const CountingWriter&) = delete;

    [[nodiscard]] uint64_t successes() const { return successes_; }
    void wait() {
        eventually([&] { return ended_.load(); });
        ASSERT_TRUE(ended_) << "the connection was not closed";
    }
    [[nodiscard]] uint64_t sent() const { return sent_; }
    [[nodiscard]] uint64_t heard_of() const { return heard_of_; }
    [[nodiscard]] const std::vector<char>& answered() const { return answered_; }

  private:
    struct Request {
        CountingWriter* writer;
        uint64_t block;
    };
    static constexpr uint64_t depth = 64;

    static int completed(void* user, int* error) {
        const auto* request = static_cast<Request*>(user);
        CountingWriter& writer = *request->writer;
        ++writer.heard_of_;
        if (*error != 0) return 1;
        writer.answered_[request->block] = 1;
        ++writer.successes_;
        return 1;
    }
    static void discard(void* user) { delete static_cast<Request*>(user); }

    void send_one() {
        const nbd_completion_callback callback{
            .callback = completed, .user_data = new Request{this, sent_}, .free = discard};
        const uint64_t at = (first_ + sent_) * write_bytes;
        if (nbd_aio_pwrite(client_.get(), data_.data(), data_.size(), at, callback, 0) >= 0) {
            ++sent_;
        }
    }

    void write_until_the_end() {
        nbd_handle* nbd = client_.get();
        while (nbd_aio_is_dead(nbd) == 0 && nbd_aio_is_closed(nbd) == 0) {
            while (sent_ < blocks_ && sent_ - heard_of_ < depth && nbd_aio_is_ready(nbd) != 0) {
                send_one();
            }
            if (nbd_poll(nbd, 100) < 0) break;
        }
        ended_ = true;
    }

    Client client_;
    uint64_t first_;
    uint64_t blocks_;
    std::vector<char> data_ = std::vector<char>(write_bytes, 'w');
    std::vector<char> answered_;
    uint64_t sent_ = 0;  // this member and the next: the thread's, until the thread has ended
    uint64_t heard_of_ = 0;
    std::atomic<uint64_t> successes_{0};
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

TEST_F(Server, UnderHeavyLoadSigtermLosesNothingThatWasAnswered) {
    constexpr uint64_t blocks = 128 * mib / write_bytes;
    const std::string image = make_image("disk.img", 4 * blocks * write_bytes);
    serve(image, {"--queue-depth", "8"});
    std::vector<std::unique_ptr<CountingWriter>> writers;
    for (uint64_t i = 0; i < 4; ++i) {
        writers.push_back(std::make_unique<CountingWriter>(uri(), i * blocks, blocks));
    }
    ASSERT_TRUE(eventually([&] {
        return std::all_of(writers.begin(), writers.end(),
                           [](const auto& writer) { return writer->successes() > 200; });
    }));
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_EQ(stop_server(), 0) << server_->output();
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(8));
    EXPECT_FALSE(fs::exists(socket_));
    EXPECT_FALSE(fs::exists(kstat_socket()));
    std::ifstream in(image, std::ios::binary);
    for (uint64_t i = 0; i < writers.size(); ++i) {
        CountingWriter& writer = *writers[i];
        writer.wait();
        EXPECT_EQ(writer.heard_of(), writer.sent());
        EXPECT_LT(writer.successes(), blocks);  // or it was no load when the signal came
        for (uint64_t block = 0; block < blocks; ++block) {
            if (writer.answered()[block] == 0) continue;
            std::array<char, write_bytes> data{};
            in.seekg(static_cast<std::streamoff>((i * blocks + block) * write_bytes));
            in.read(data.data(), data.size());
            ASSERT_TRUE(std::all_of(data.begin(), data.end(), [](char c) { return c == 'w'; }))
                << "block " << block << " was answered and is not there";
        }
    }
}

// Asks for more than a socket holds, and takes none of it. In small pieces: longer ones are looked
// through for holes, which this device is made of.
void Server::fill_the_socket(Client& client) {
    constexpr size_t reads = 64;
    static std::array<char, 32768> data;
    for (size_t i = 0; i < reads; ++i) {
        ASSERT_GE(nbd_aio_pread(client.get(), data.data(), data.size(), i * data.size(),
                                nbd_completion_callback{}, 0),
                  0);
    }
    ASSERT_TRUE(eventually([&] { return read_io().reads == reads; }));
}

// As one who has lost patience does: the kernel has what was answered, and the disk need not.
TEST_F(Server, ASecondSignalEndsItAtOnce) {
    serve("memory:64M");
    Client client(uri());  // takes no replies, so the orderly end has to wait for it
    fill_the_socket(client);
    server_->signal(SIGTERM);
    ASSERT_TRUE(eventually([&] { return !fs::exists(socket_); }));  // the server has begun to stop
    EXPECT_TRUE(server_->running());
    server_->signal(SIGTERM);
    EXPECT_EQ(server_->wait(), 128 + SIGTERM);
}

// Its replies fill the socket, and no client reads them: the server waits a while, not for ever.
TEST_F(Server, AClientThatTakesNoRepliesHoldsTheEndUpForSecondsOnly) {
    serve("memory:64M");
    Client client(uri());
    fill_the_socket(client);
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_EQ(stop_server(), 0) << server_->output();
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(8));
    EXPECT_FALSE(fs::exists(socket_));
}

}  // namespace
}  // namespace blkscope::test
