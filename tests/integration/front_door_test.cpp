// The front door: how a server gets its sockets and which clients it accepts. Also how its exports
// are added and removed while it serves.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "raw_client.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

// A TCP connection that only looks whether a server greets it.
class Caller {
  public:
    Caller(const std::string& from, uint16_t port)
        : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        inet_pton(AF_INET, from.c_str(), &address.sin_addr);
        EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
        address.sin_port = htons(port);
        EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    ~Caller() { ::close(fd_); }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    bool greeted() {
        char byte = 0;
        pollfd wait{fd_, POLLIN, 0};
        return ::poll(&wait, 1, 20'000) > 0 && ::recv(fd_, &byte, 1, 0) == 1;
    }
    /// The server hangs up within that time.
    bool dropped(int milliseconds) {
        char bytes[64];
        pollfd wait{fd_, POLLIN, 0};
        while (::poll(&wait, 1, milliseconds) > 0) {
            if (::recv(fd_, bytes, sizeof bytes, 0) <= 0) return true;
        }
        return false;
    }

  private:
    int fd_;
};

class FrontDoor : public ServedDevice {
  protected:
    void write_config(const std::string& text) { std::ofstream(path("lab.json")) << text; }

    /// A file with these exports, on the fixture's socket.
    void configure(const std::string& exports, const std::string& more = "") {
        write_config("{\"listen\": [\"unix:" + socket_ + "\"]," + more + "\"exports\": [" +
                     exports + "]}");
    }

    void serve_config() { serve_with({"--config", path("lab.json")}); }

    /// SIGHUP, and waits for one more line that begins like this.
    std::string reload(const std::string& answer) {
        const size_t before = server_->output().size();
        server_->signal(SIGHUP);
        const auto said = [&] { return server_->output().substr(before); };
        EXPECT_TRUE(eventually([&] { return said().find(answer) != std::string::npos; })) << said();
        return said();
    }

    std::string python(const std::string& script, const std::vector<std::string>& arguments = {}) {
        std::vector<std::string> command{"/usr/bin/python3", "-c", "import nbd, sys\n" + script};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return succeed(command);
    }
    bool has_python_libnbd() { return run({"/usr/bin/python3", "-c", "import nbd"}).status == 0; }
};

constexpr const char* a = R"({"name": "a", "backing": "memory:1M"})";
constexpr const char* b = R"({"name": "b", "backing": "memory:2M"})";

// ---- Exports that come and go ----

TEST_F(FrontDoor, AFileNamesExportsAndTheirProperties) {
    const std::string image = make_image("disk.img", 1 << 20);
    configure(R"({"name": "ro", "backing": ")" + image + R"(", "read-only": true,
        "description": "not to be written"}, {"name": "rw", "backing": "memory:2M", "default": true})");
    serve_config();
    EXPECT_EQ(Client(uri("ro")).try_write(0, 512), EPERM);
    EXPECT_EQ(Client(uri()).try_write(0, 512), 0);
    const std::string listed = succeed({"nbdinfo", "--list", uri()});
    EXPECT_NE(listed.find("not to be written"), std::string::npos) << listed;
}

TEST_F(FrontDoor, BytesBehindTheLastSectorAreToldOfAtTheStartAndAtAReload) {
    constexpr std::string_view rest = "the last 488 are not there\n";
    const auto lines = [&](const std::string& said) {
        size_t count = 0;
        for (size_t at = said.find(rest); at != std::string::npos; at = said.find(rest, at + 1)) {
            ++count;
        }
        return count;
    };
    const std::string image = make_image("disk.img", 1000);
    configure(R"({"name": "file", "backing": ")" + image +
              R"("}, {"name": "whole", "backing": "memory:1M"})");
    serve_config();
    EXPECT_EQ(lines(server_->output()), 1u) << server_->output();
    configure(R"({"name": "file", "backing": ")" + image +
              R"("}, {"name": "memory", "backing": "memory:1000"})");
    const std::string said = reload("reloaded ");
    EXPECT_EQ(lines(said), 1u) << said;
    EXPECT_NE(said.find(": 1000 bytes are not whole sectors of 512: attached to Linux, the disk "
                        "ends after 512 bytes, "),
              std::string::npos)
        << said;
}

// The start reads a pipe, and so lasts until the test closes it. The reload reads the next file.
TEST_F(FrontDoor, AHangupDuringTheStartIsAReload) {
    const std::string listen = "{\"listen\": [\"unix:" + socket_ + "\"], \"exports\": [";
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    ASSERT_EQ(symlink(path("pipe").c_str(), path("lab.json").c_str()), 0);
    server_ = std::make_unique<Process>(
        std::vector<std::string>{BLKSCOPE_BINARY, "serve", "--config", path("lab.json")},
        path("server.log"));
    std::ofstream first(path("pipe"));  // waits until the server has opened the other end
    first << listen << a << "]}" << std::flush;
    std::ofstream(path("next.json")) << listen << a << "," << b << "]}";
    std::filesystem::rename(path("next.json"), path("lab.json"));
    server_->signal(SIGHUP);
    first.close();
    EXPECT_TRUE(eventually([&] {
        return !server_->running() ||
               server_->output().find("1 added, 0 replaced, 0 removed\n") != std::string::npos;
    })) << server_->output();
    ASSERT_TRUE(server_->running()) << server_->wait();
    EXPECT_EQ(Client(uri("b")).try_read(0, 512), 0);
}

TEST_F(FrontDoor, AReloadOfAPipeIsRefusedAndNobodyWaits) {
    configure(a);
    serve_config();
    std::filesystem::rename(path("lab.json"), path("saved.json"));
    ASSERT_EQ(mkfifo(path("lab.json").c_str(), 0600), 0);
    reload("lab.json: not a regular file; everything stays as it was\n");
    ASSERT_FALSE(HasFailure());  // a client of a server that waits would wait, too
    EXPECT_EQ(Client(uri("a")).try_write(0, 512), 0);
    std::filesystem::rename(path("saved.json"), path("lab.json"));
    reload("0 added, 0 replaced, 0 removed\n");
}

TEST_F(FrontDoor, KeysInAPipeAreRefusedAtAReloadAndNobodyWaits) {
    const std::string keys = path("keys.psk");
    std::ofstream(keys) << "alice:00112233445566778899aabbccddeeff\n";
    ASSERT_EQ(chmod(keys.c_str(), 0600), 0);
    configure(a, R"("tls": {"mode": "on", "psk": ")" + keys + R"("},)");
    serve_config();
    std::filesystem::remove(keys);
    ASSERT_EQ(mkfifo(keys.c_str(), 0600), 0);
    reload("keys.psk: not a regular file; everything stays as it was\n");
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(Client(uri("a")).try_write(0, 512), 0);
}

TEST_F(FrontDoor, APipeIsReadAtTheStart) {
    const std::string text = R"({"listen": ["unix:)" + socket_ + R"("], "exports": [)" + a + "]}";
    ASSERT_EQ(mkfifo(path("lab.json").c_str(), 0600), 0);
    std::thread writer([&] { write_config(text); });
    serve_config();
    writer.join();
    EXPECT_EQ(Client(uri("a")).try_write(0, 512), 0);
}

TEST_F(FrontDoor, AReloadAddsReplacesAndRemovesAndDisturbsNobodyElse) {
    configure(std::string(a) + "," + b + R"(,{"name": "c", "backing": "memory:3M"})");
    serve_config();
    Client stays(uri("a"));
    Client replaced(uri("b"));
    Client removed(uri("c"));
    ASSERT_EQ(stays.try_write(0, 512, 's'), 0);
    configure(std::string(a) + R"(,{"name": "b", "backing": "memory:4M"},
        {"name": "d", "backing": "memory:5M"})");
    reload("reloaded " + path("lab.json") + ": 1 added, 1 replaced, 1 removed\n");

    EXPECT_EQ(stays.read(0, 512), std::vector<char>(512, 's'));
    // Each worker ends its own clients: one may answer a request that comes in between.
    EXPECT_TRUE(eventually([&] { return replaced.try_read(0, 512) != 0; }));
    EXPECT_TRUE(eventually([&] { return removed.try_read(0, 512) != 0; }));
    EXPECT_EQ(nbd_get_size(Client(uri("b")).get()), 4 << 20);
    EXPECT_EQ(nbd_get_size(Client(uri("d")).get()), 5 << 20);
    EXPECT_THROW(Client(uri("c")), std::runtime_error);
    EXPECT_EQ(Client(uri("a")).read(0, 512), std::vector<char>(512, 's'));
    const auto names = [&] { return succeed({BLKSCOPE_BINARY, "list"}); };
    EXPECT_TRUE(eventually([&] { return names().find("/c?") == std::string::npos; })) << names();
    EXPECT_EQ(stop_server(), 0) << server_->output();
}

// The requests that it had taken are answered before the connection ends.
TEST_F(FrontDoor, ARemovedExportAnswersWhatItHasAccepted) {
    const std::string image = make_image("disk.img", 64 << 20);
    configure(std::string(a) + R"(,{"name": "gone", "queue-depth": 1, "backing": ")" + image +
              "\"}");
    serve_config();
    Client client(uri("gone"));
    const std::vector<char> data(65536, 'd');
    std::vector<int64_t> writes;
    for (uint64_t i = 0; i < 200; ++i) {
        writes.push_back(nbd_aio_pwrite(client.get(), data.data(), data.size(), i * data.size(),
                                        nbd_completion_callback{}, 0));
        ASSERT_GE(writes.back(), 0);
    }
    configure(a);
    reload("1 removed\n");
    while (nbd_aio_is_dead(client.get()) == 0 && nbd_aio_is_closed(client.get()) == 0) {
        if (nbd_poll(client.get(), 20'000) <= 0) break;
    }
    std::ifstream in(image, std::ios::binary);
    for (size_t i = 0; i < writes.size(); ++i) {
        if (nbd_aio_command_completed(client.get(), static_cast<uint64_t>(writes[i])) != 1)
            continue;
        std::vector<char> found(data.size());
        in.seekg(static_cast<std::streamoff>(i * data.size()));
        in.read(found.data(), static_cast<std::streamsize>(found.size()));
        ASSERT_EQ(found, data) << "write " << i << " was answered and is not there";
    }
    EXPECT_TRUE(server_->running());
}

TEST_F(FrontDoor, ABadFileChangesNothing) {
    configure(a);
    serve_config();
    Client client(uri("a"));
    const char* bad[] = {"{", R"({"name": "x"})", R"({"name": "x", "backing": "/nonexistent"})",
                         R"({"name": "x", "backing": "memory:12Q"})"};
    for (const char* exports : bad) {
        configure(std::string(b) + "," + exports);
        const std::string said = reload("everything stays as it was\n");
        EXPECT_EQ(said.rfind("blkscope: reload: ", 0), 0u) << said;
        EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    }
    configure(b, R"("listen": ["unix:/nonexistent/socket"],)");
    reload("everything stays as it was\n");
    write_config(R"({"listen": ["unix:/nonexistent/socket"], "exports": [)" + std::string(b) +
                 "]}");
    reload("everything stays as it was\n");
    EXPECT_EQ(client.try_read(0, 512), 0);
    EXPECT_THROW(Client(uri("b")), std::runtime_error);
    EXPECT_EQ(Client(uri("a")).try_read(0, 512), 0);
}

TEST_F(FrontDoor, AReloadMovesTheDoorAndKeepsItsClients) {
    configure(a);
    serve_config();
    Client client(uri("a"));
    const std::string moved = path("moved");
    write_config("{\"listen\": [\"unix:" + moved + "\"], \"exports\": [" + a + "]}");
    reload("0 added, 0 replaced, 0 removed\n");
    EXPECT_EQ(client.try_write(0, 512), 0);
    EXPECT_EQ(Client(uri_at("moved", "a")).try_read(0, 512), 0);
    EXPECT_FALSE(std::filesystem::exists(socket_));
    const std::string listed = succeed({BLKSCOPE_BINARY, "list"});
    EXPECT_NE(listed.find(uri_at("moved", "a")), std::string::npos) << listed;
}

TEST_F(FrontDoor, ManyReloadsLeaveDescriptorsAsTheyWere) {
    const std::string image = make_image("disk.img", 1 << 20);
    const std::string file = R"(,{"name": "f", "backing": ")" + image + "\"}";
    configure(std::string(a) + file);
    serve_config();
    const auto descriptors = [&] {
        const std::filesystem::directory_iterator all("/proc/" + std::to_string(server_->pid()) +
                                                      "/fd");
        return std::distance(begin(all), end(all));
    };
    const auto before = descriptors();
    for (int i = 0; i < 80; ++i) {  // more than a ring's table has room for
        configure(a);
        reload("1 removed\n");
        configure(std::string(a) + file);
        reload("1 added, 0 replaced, 0 removed\n");
    }
    EXPECT_EQ(Client(uri("f")).try_write(0, 512), 0);
    EXPECT_TRUE(eventually([&] { return descriptors() == before; }))
        << descriptors() << " " << before;
}

TEST_F(FrontDoor, ABadFileAtTheStartIsBadUsage) {
    write_config("{\"exports\": [{\"name\": \"a\",\n \"backing\"}]}");
    const CommandResult result = run({BLKSCOPE_BINARY, "serve", "--config", path("lab.json")});
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.output.rfind("blkscope: " + path("lab.json") + ": line 2, column ", 0), 0u)
        << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
    EXPECT_EQ(run({BLKSCOPE_BINARY, "serve", "--config", path("absent.json")}).status, 1);
    EXPECT_EQ(run({BLKSCOPE_BINARY, "serve", "--config", path("lab.json"), "--direct"}).status, 2);
}

// ---- Sockets that were there before ----

TEST_F(FrontDoor, TakesOverTheSocketThatLibnbdActivatesItWith) {
    if (!has_python_libnbd()) GTEST_SKIP() << "SKIPPED: python3-libnbd is not installed";
    const std::string said = python(
        "h = nbd.NBD()\n"
        "h.connect_systemd_socket_activation([sys.argv[1], 'serve', 'memory:3M'])\n"
        "h.pwrite(b'x' * 512, 0)\nprint('size', h.get_size())\nh.shutdown()\n",
        {BLKSCOPE_BINARY});
    EXPECT_NE(said.find("size 3145728"), std::string::npos) << said;
}

// The client's own output goes where the server's would: nbdcopy to standard output, for one.
TEST_F(FrontDoor, LeavesStandardOutputToTheClientThatActivatesIt) {
    if (!has_python_libnbd()) GTEST_SKIP() << "SKIPPED: python3-libnbd is not installed";
    const std::string log = path("activated.log");
    const std::string said = python(
        "h = nbd.NBD()\n"
        "h.connect_systemd_socket_activation(\n"
        "    ['sh', '-c', 'exec \"$0\" serve memory:3M 2>\"$1\"', *sys.argv[1:]])\n"
        "print('size', h.get_size(), flush=True)\nh.shutdown()\n",
        {BLKSCOPE_BINARY, log});
    EXPECT_EQ(said, "size 3145728\n");
    std::string device;
    std::ifstream(log) >> device;
    EXPECT_EQ(device, "nbd0");
}

TEST_F(FrontDoor, ServesTheOneClientAtStandardInputAndEnds) {
    if (!has_python_libnbd()) GTEST_SKIP() << "SKIPPED: python3-libnbd is not installed";
    const std::string image = make_image("disk.img", 1 << 20);
    // The handle's end waits for the server's.
    python(
        "h = nbd.NBD()\n"
        "h.connect_command([sys.argv[1], 'serve', '--stdio', sys.argv[2]])\n"
        "h.pwrite(b'x' * 512, 0)\nh.shutdown()\ndel h\n",
        {BLKSCOPE_BINARY, image});
    std::ifstream in(image, std::ios::binary);
    EXPECT_EQ(in.get(), 'x');
    EXPECT_EQ(run({BLKSCOPE_BINARY, "serve", "--stdio", image}).status,
              2);  // /dev/null is no socket
}

// Python as the service manager: it listens on all kinds of sockets, and becomes the server.
constexpr const char* activate = R"(
import os, socket, sys
folder, fds, names, server = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
sockets = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET), socket.socket(socket.AF_INET6)]
sockets[0].bind(folder + '/activated')
sockets[1].bind(('127.0.0.1', 0))
sockets[2].bind(('::1', 0))
kept = [os.dup(s.fileno()) for s in sockets[:3] if s.listen() is None]
kept = [os.dup2(fd, 100 + i) for i, fd in enumerate(kept)]
for i, fd in enumerate(kept): os.dup2(fd, 3 + i)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=fds)
if names: os.environ['LISTEN_FDNAMES'] = names
os.execv(server[0], server)
)";

TEST_F(FrontDoor, TakesOverUnixAndTcpSocketsTogether) {
    server_ = start_process({"/usr/bin/python3", "-c", activate, folder_.string(), "3", "a:b:c",
                             BLKSCOPE_BINARY, "serve", "one=memory:1M"});
    const std::string said = server_->output();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 3) << said;
    EXPECT_EQ(said.rfind("nbd0 " + uri_at("activated", "one") + "\n", 0), 0u) << said;
    EXPECT_NE(said.find("nbd://127.0.0.1:"), std::string::npos) << said;
    const size_t v6 = said.find("nbd://[::1]:");
    ASSERT_NE(v6, std::string::npos) << said;
    EXPECT_EQ(Client(uri_at("activated")).try_write(0, 512), 0);
    EXPECT_EQ(Client(said.substr(v6, said.find('\n', v6) - v6)).try_read(0, 512), 0);
    EXPECT_EQ(stop_server(), 0);
    EXPECT_TRUE(std::filesystem::exists(path("activated")));  // not ours to remove
}

TEST_F(FrontDoor, RefusesActivationThatMakesNoSense) {
    struct {
        std::vector<std::string> arguments;
        const char* why;
    } const cases[] = {
        {{"none", "", BLKSCOPE_BINARY, "serve", "memory:1M"}, "LISTEN_FDS=none"},
        {{"17", "", BLKSCOPE_BINARY, "serve", "memory:1M"}, "LISTEN_FDS=17"},
        {{"3", "a:b", BLKSCOPE_BINARY, "serve", "memory:1M"}, "LISTEN_FDNAMES=a:b"},
        {{"3", "", BLKSCOPE_BINARY, "serve", "memory:1M", "--port", "0"}, "leave one out"},
        {{"3", "", BLKSCOPE_BINARY, "serve", "memory:1M", "--stdio"}, "leave one out"},
        {{"16", "", BLKSCOPE_BINARY, "serve", "memory:1M"}, "LISTEN_FDS=16"},
    };
    for (const auto& [arguments, why] : cases) {
        std::vector<std::string> command{"/usr/bin/python3", "-c", activate, folder_.string()};
        command.insert(command.end(), arguments.begin(), arguments.end());
        const CommandResult result = run(command);
        std::filesystem::remove(path("activated"));
        EXPECT_EQ(result.status, 2) << why;
        EXPECT_NE(result.output.find(why), std::string::npos) << result.output;
        EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
    }
}

TEST_F(FrontDoor, SystemdsOwnActivatorStartsItAtTheFirstClient) {
    NEEDS("systemd-socket-activate");
    Process activator({"systemd-socket-activate", "-l", path("activated"), "-E",
                       "KSTAT_DIR=" + folder_.string(), BLKSCOPE_BINARY, "serve", "memory:1M"},
                      path("activator.log"));
    ASSERT_TRUE(
        eventually([&] { return activator.output().find("Listening on") != std::string::npos; }));
    EXPECT_EQ(Client(uri_at("activated")).try_write(0, 512), 0) << activator.output();
    activator.signal(SIGTERM);
    EXPECT_EQ(activator.wait(), 0) << activator.output();
}

// ---- Whom it lets in ----

class AllowedDoor : public FrontDoor {
  protected:
    uint16_t serve_on_port(const std::vector<std::string>& options) {
        std::vector<std::string> arguments{"--port", "0"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        arguments.push_back("memory:1M");  // last: no option takes it for its own
        serve_with(arguments);
        const std::string said = server_->output();
        return static_cast<uint16_t>(std::stoi(said.substr(said.find("127.0.0.1:") + 10)));
    }
};

TEST_F(AllowedDoor, LetsInWhoeverIsOnTheList) {
    const uint16_t port = serve_on_port({"--allow", "127.0.0.8/30", "--allow", "::1"});
    EXPECT_TRUE(Caller("127.0.0.11", port).greeted());
    EXPECT_FALSE(Caller("127.0.0.12", port).greeted());
    EXPECT_FALSE(Caller("127.0.0.1", port).greeted());
    EXPECT_TRUE(eventually([&] {
        return server_->output().find("refused: the address is not allowed") != std::string::npos;
    })) << server_->output();
}

TEST_F(AllowedDoor, AHandshakeBeyondTheLimitTakesTheOldestsPlaceAndNoServedClients) {
    const uint16_t port = serve_on_port({"--max-handshakes", "2"});
    const std::string server = "nbd://127.0.0.1:" + std::to_string(port);
    Client served(server);
    Caller one("127.0.0.1", port);
    Caller two("127.0.0.1", port);
    EXPECT_TRUE(one.greeted() && two.greeted());
    Caller three("127.0.0.1", port);
    EXPECT_TRUE(three.greeted());
    EXPECT_TRUE(one.dropped(5'000));
    EXPECT_FALSE(two.dropped(100));
    EXPECT_EQ(served.try_write(0, 512), 0);
    EXPECT_TRUE(eventually([&] {
        return server_->output().find("the former has 2 of 2 handshakes") != std::string::npos;
    })) << server_->output();
}

// An attacker at one address, who begins handshakes and does nothing else.
class Attack {
  public:
    Attack(const std::string& from, uint16_t port) : from_(from), port_(port) {
        for (int i = 0; i < 100; ++i) call();
        thread_ = std::thread([this] {
            while (!stop_) call();
        });
    }
    ~Attack() {
        stop_ = true;
        thread_.join();
    }
    Attack(const Attack&) = delete;
    Attack& operator=(const Attack&) = delete;

    [[nodiscard]] unsigned calls() const { return calls_; }

  private:
    // One more, and where there are too many the oldest goes.
    void call() {
        callers_.push_back(std::make_unique<Caller>(from_, port_));
        if (callers_.size() > 128) callers_.pop_front();
        ++calls_;
    }

    std::string from_;
    uint16_t port_;
    std::deque<std::unique_ptr<Caller>> callers_;
    std::atomic<unsigned> calls_{0};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

TEST_F(AllowedDoor, IdleHandshakesOfOneAddressKeepNoOtherOut) {
    const uint16_t port = serve_on_port({});
    std::vector<std::unique_ptr<Caller>> idle;
    for (int i = 0; i < 150; ++i) idle.push_back(std::make_unique<Caller>("127.0.0.66", port));
    EXPECT_TRUE(idle.back()->greeted());
    for (int i = 0; i < 30; ++i) {
        const auto since = std::chrono::steady_clock::now();
        Client honest("nbd://127.0.0.1:" + std::to_string(port));
        EXPECT_EQ(honest.try_write(0, 512), 0);
        EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(5));
    }
}

TEST_F(AllowedDoor, AFloodOfHandshakesFromOneAddressKeepsNoOtherOut) {
    const uint16_t port = serve_on_port({});
    const Attack attack("127.0.0.66", port);
    for (int i = 0; i < 30; ++i) {
        Client honest("nbd://127.0.0.1:" + std::to_string(port));
        EXPECT_EQ(honest.try_write(0, 512), 0);
    }
    EXPECT_GT(attack.calls(), 100u);
    const std::string said = server_->output();
    EXPECT_NE(said.find("handshake with 127.0.0.66 port "), std::string::npos) << said;
    EXPECT_EQ(said.find("handshake with 127.0.0.1 port "), std::string::npos) << said;
}

// ---- Descriptors ----

class FewDescriptors : public FrontDoor {
  protected:
    void SetUp() override {
        FrontDoor::SetUp();
#ifdef __SANITIZE_ADDRESS__
        GTEST_SKIP() << "SKIPPED: the sanitizer needs a descriptor to look at an object";
#endif
    }
    void serve_with_descriptors(const std::string& soft_and_hard,
                                const std::vector<std::string>& options) {
        std::vector<std::string> command{
            "prlimit",  "--nofile=" + soft_and_hard, BLKSCOPE_BINARY, "serve", "--unix", socket_,
            "memory:1M"};
        command.insert(command.end(), options.begin(), options.end());
        server_ = start_process(command);
    }
    // Clients that are served, until one is not.
    std::vector<std::unique_ptr<Client>> fill(size_t clients_max) {
        std::vector<std::unique_ptr<Client>> clients;
        try {
            while (clients.size() < clients_max) clients.push_back(std::make_unique<Client>(uri()));
        } catch (const std::runtime_error&) {
        }
        return clients;
    }
};

TEST_F(FewDescriptors, ASoftLimitIsRaisedToTheHardOne) {
    NEEDS("prlimit");
    serve_with_descriptors("32:4096", {});
    // liburing raises it a little by itself, so there are many clients.
    EXPECT_EQ(fill(150).size(), 150u);
    EXPECT_EQ(server_->output().find("--max-connections"), std::string::npos);
}

TEST_F(FewDescriptors, WithoutAnyClientsAreTurnedAwayAtOnceAndToldOf) {
    NEEDS("prlimit");
    serve_with_descriptors("48:48", {"--max-connections", "100"});
    EXPECT_NE(server_->output().find(" too many for 48 descriptors; raise the limit"),
              std::string::npos)
        << server_->output();
    auto clients = fill(100);
    EXPECT_GT(clients.size(), 10u);
    EXPECT_LT(clients.size(), 48u);
    EXPECT_TRUE(eventually([&] {
        return server_->output().find("refused: no descriptors left: Too many open files") !=
               std::string::npos;
    })) << server_->output();
    for (const auto& client : clients) EXPECT_EQ(client->try_write(0, 512), 0);
    clients.pop_back();
    EXPECT_TRUE(eventually([&] { return fill(1).size() == 1; }));
}

TEST_F(FewDescriptors, IdleHandshakesDoNotHoldTheLastOnes) {
    NEEDS("prlimit");
    serve_with_descriptors("48:48", {"--max-handshakes", "1000", "--max-connections", "1000"});
    std::vector<std::unique_ptr<RawClient>> idle;
    for (int i = 0; i < 100; ++i) idle.push_back(std::make_unique<RawClient>(socket_));
    for (int i = 0; i < 5; ++i) succeed({"nbdinfo", "--size", uri()});
}

// On a Unix socket: this process is the attacker, another program the client.
TEST_F(FrontDoor, IdleHandshakesOfOneProcessKeepNoOtherOut) {
    serve("memory:1M");
    std::vector<std::unique_ptr<RawClient>> idle;
    for (int i = 0; i < 100; ++i) idle.push_back(std::make_unique<RawClient>(socket_));
    for (int i = 0; i < 5; ++i) succeed({"nbdinfo", "--size", uri()});
    const std::string said = server_->output();
    EXPECT_NE(said.find("handshake with process " + std::to_string(getpid()) + " of user "),
              std::string::npos)
        << said;
}

TEST_F(AllowedDoor, AClientThatDoesNotNegotiateInTimeMakesRoomForAnother) {
    const uint16_t port = serve_on_port({"--max-handshakes", "1", "--handshake-timeout", "1"});
    Caller silent("127.0.0.1", port);
    EXPECT_TRUE(silent.greeted());
    EXPECT_TRUE(silent.dropped(20'000));
    EXPECT_TRUE(eventually([&] { return Caller("127.0.0.1", port).greeted(); }));
    EXPECT_NE(server_->output().find("not done within 1 s"), std::string::npos)
        << server_->output();
}

TEST_F(AllowedDoor, AReloadTightensTheLimitsForThoseToCome) {
    configure(a);
    serve_config();
    Client one(uri());
    configure(a, R"("limits": {"connections": 1},)");
    reload("0 added, 0 replaced, 0 removed\n");
    EXPECT_THROW(Client{uri()}, std::runtime_error);
    EXPECT_EQ(one.try_read(0, 512), 0);
}

}  // namespace
}  // namespace blkscope::test
