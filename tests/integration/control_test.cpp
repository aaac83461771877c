// The control socket: a running server is changed by its own user only. No client disturbs it.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
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

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Control : public ServedDevice {
  protected:
    [[nodiscard]] std::string control_path() const {
        return path(std::to_string(server_->pid()) + ".ctl");
    }
    /// One line to the control socket, and the line that it answers.
    std::string ask(RawClient& client, const std::string& line) {
        EXPECT_TRUE(client.text(line + "\n").send());
        std::string answer;
        while (answer.find('\n') == std::string::npos) {
            const auto byte = client.receive(1);
            if (byte.empty()) return answer + " (closed)";
            answer.push_back(static_cast<char>(byte[0]));
        }
        return answer;
    }
    /// How long one read takes.
    static std::chrono::milliseconds read_time(Client& client) {
        const auto since = Clock::now();
        EXPECT_EQ(client.try_read(0, 512), 0);
        return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since);
    }
    [[nodiscard]] bool logged(const std::string& text) const {
        return server_->output().find(text) != std::string::npos;
    }
};

constexpr const char* list_line = R"({"command":"fault-list","device":"nbd0"})";
constexpr const char* no_faults = "{\"ok\":true,\"faults\":[]}\n";

// ---- The commands ----

TEST_F(Control, SetChangesTheModelOfADeviceWithClients) {
    serve("memory:1M");
    Client client(uri());
    EXPECT_EQ(blkscope({"set", "nbd0", "model=read=const:400ms"}),
              "nbd0: model=read=const:400ms\n");
    EXPECT_GE(read_time(client), 400ms);
    EXPECT_EQ(blkscope({"set", "nbd0", "model=none", "limit=read_iops=1000"}),
              "nbd0: model=none\nnbd0: limit=read_iops=1000\n");
    EXPECT_LT(read_time(client), 400ms);
    EXPECT_TRUE(logged("blkscope: nbd0: process ")) << server_->output();
    EXPECT_TRUE(logged(" of user " + std::to_string(getuid()) + " set model=read=const:400ms\n"))
        << server_->output();
}

TEST_F(Control, SetChangesTheDepth) {
    serve("memory:1M", {"--model", "read=const:400ms"});
    EXPECT_EQ(blkscope({"set", "nbd0", "queue-depth=1"}), "nbd0: queue-depth=1\n");
    Client client(uri());
    std::vector<char> data(512);
    const auto since = Clock::now();
    std::vector<int64_t> reads;
    for (int i = 0; i < 4; ++i) {
        reads.push_back(
            nbd_aio_pread(client.get(), data.data(), data.size(), 0, nbd_completion_callback{}, 0));
    }
    for (const int64_t read : reads) {
        while (nbd_aio_command_completed(client.get(), static_cast<uint64_t>(read)) == 0) {
            ASSERT_GT(nbd_poll(client.get(), 20'000), 0);
        }
    }
    EXPECT_GE(Clock::now() - since, 1600ms);  // one after the other
    const std::string batch = blkscope({"list", "-v"});
    EXPECT_NE(batch.find("depth 1\n"), std::string::npos) << batch;
}

TEST_F(Control, FaultsAreAddedListedAndCleared) {
    serve("memory:1M");
    Client client(uri());
    EXPECT_EQ(blkscope({"fault", "nbd0", "list"}), "");
    EXPECT_EQ(blkscope({"fault", "nbd0", "add", "write:error=ENOSPC;sectors=8-15"}),
              "nbd0: fault 1: write:error=ENOSPC;sectors=8-15\n");
    EXPECT_EQ(blkscope({"fault", "nbd0", "add", "all:error=EPERM;count=1"}),
              "nbd0: fault 2: all:error=EPERM;count=1\n");
    EXPECT_EQ(client.try_write(4096, 512), ENOSPC);
    EXPECT_EQ(client.try_write(0, 512), EPERM);
    EXPECT_EQ(client.try_write(0, 512), 0);
    EXPECT_EQ(blkscope({"fault", "nbd0", "list"}),
              " fault       hits  rule\n"
              "     1          1  write:error=ENOSPC;sectors=8-15\n"
              "     2          1  all:error=EPERM;count=1\n");
    EXPECT_EQ(blkscope({"fault", "nbd0", "clear", "1"}), "nbd0: 1 cleared\n");
    EXPECT_EQ(client.try_write(4096, 512), 0);
    EXPECT_EQ(refused({"fault", "nbd0", "clear", "1"}, 1), "blkscope: nbd0 has no fault 1\n");
    EXPECT_EQ(blkscope({"fault", "nbd0", "clear"}), "nbd0: 1 cleared\n");
    EXPECT_EQ(blkscope({"fault", "nbd0", "list"}), "");
}

TEST_F(Control, ARuleThatIsClearedReleasesWhatItHasHungUp) {
    serve("memory:1M", {"--fault", "read:hang"});
    std::atomic<bool> answered{false};
    std::thread reader([&] {
        Client client(uri());
        EXPECT_EQ(client.try_read(0, 512), 0);
        answered = true;
    });
    EXPECT_TRUE(eventually([&] { return read_io().rcnt == 1; }));
    std::this_thread::sleep_for(100ms);
    EXPECT_FALSE(answered);
    blkscope({"fault", "nbd0", "clear"});
    EXPECT_TRUE(eventually([&] { return answered.load(); }));
    reader.join();
}

TEST_F(Control, TheErrorOfASyncIsForgottenAfterASyncThatSucceeded) {
    serve("memory:1M", {"--fault", "flush:error=EIO;count=1;sticky"});
    Client client(uri());
    const auto flush = [&] { return nbd_flush(client.get(), 0) < 0 ? nbd_get_errno() : 0; };
    EXPECT_EQ(flush(), EIO);
    EXPECT_NE(refused({"clear-error", "nbd0"}, 1).find("no sync has succeeded"), std::string::npos);
    EXPECT_EQ(flush(), EIO);
    blkscope({"clear-error", "nbd0"});
    EXPECT_EQ(flush(), 0);
    const std::string cleared = "the failed sync was cleared";
    const size_t at = server_->output().find(cleared);
    ASSERT_NE(at, std::string::npos) << server_->output();
    // A second time there is nothing to clear, and nothing to log.
    blkscope({"clear-error", "nbd0"});
    EXPECT_EQ(server_->output().find("clear", at + cleared.size()), std::string::npos)
        << server_->output();
}

// The server opens no path that a client names. This file is where the command runs.
TEST_F(Control, TheCommandReadsTheFileOfAModel) {
    serve("memory:1M");
    std::filesystem::create_directory(path("there"));
    std::ofstream(path("there/measured.json"))
        << R"({"jobs": [{"read": {"clat_ns": {"bins": {"50003968": 5}}}}]})";
    EXPECT_EQ(succeed({"env", "-C", path("there"), BLKSCOPE_BINARY, "set", "nbd0",
                       "model=read=empirical:measured.json"}),
              "nbd0: model=read=empirical:measured.json\n");
    Client client(uri());
    EXPECT_GE(read_time(client), 49ms);
    RawClient raw(control_path());
    const std::string answer =
        ask(raw, R"({"command":"set","device":"nbd0","model":"read=empirical:/etc/passwd"})");
    EXPECT_NE(answer.find("the request has no histogram of it"), std::string::npos) << answer;
}

TEST_F(Control, TheOrderChangesWhileTheDeviceServes) {
    serve("memory:1M", {"--queue-depth", "1"});
    Client client(uri());
    for (const std::string order : {"fair", "fair", "arrival"}) {
        EXPECT_EQ(succeed({BLKSCOPE_BINARY, "set", "nbd0", "order=" + order}),
                  "nbd0: order=" + order + "\n");
        EXPECT_EQ(client.try_read(0, 512), 0);
    }
    EXPECT_NE(server_->output().find("set order=fair"), std::string::npos) << server_->output();
}

TEST_F(Control, BadInputChangesNothing) {
    serve("memory:1M", {"--model", "read=const:1ms"});
    const size_t log = server_->output().size();
    const std::vector<std::vector<std::string>> wrong{
        {"set", "nbd0"},
        {"set", "nbd0", "model=read=gauss:1ms"},
        {"set", "nbd0", "model=read=const:5ms", "limit=iops=0"},
        {"set", "nbd0", "limit=iops=10", "model=read=pareto:1ms:1"},
        {"set", "nbd0", "model=read=empirical:/dev/null"},
        {"set", "nbd0", "queue-depth=0"},
        {"set", "nbd0", "queue-depth=1025", "limit=iops=10"},
        {"set", "nbd0", "depth=3"},
        {"set", "nbd0", "order=random"},
        {"set", "nbd0", "order=fair", "order=fair"},
        {"set", "nbd0", "model=nvme", "model=nvme"},
        {"fault", "nbd0", "add"},
        {"fault", "nbd0", "add", "read:drop"},
        {"fault", "nbd0", "add", "read:error=EIO;sectors=2048-4095"},
        {"fault", "nbd0", "remove"},
        {"fault", "nbd0", "clear", "none"},
        {"fault", "nbd0", "list", "1"},
    };
    for (const auto& arguments : wrong) refused(arguments, 2);
    for (const char* device : {"nbd7", "nbd", "nbd-1", "vda", "nbd0x", ""}) {
        EXPECT_NE(refused({"set", device, "limit=none"}, 1).find("there is no device"),
                  std::string::npos);
    }
    EXPECT_EQ(server_->output().size(), log) << server_->output();
    Client client(uri());
    EXPECT_LT(read_time(client), 400ms);
}

TEST_F(Control, ADeviceHasABoundOfFaults) {
    serve("memory:1M");
    RawClient raw(control_path());
    const std::string add = R"({"command":"fault-add","device":"nbd0","rule":"write:drop"})";
    for (int i = 1; i <= 64; ++i) {
        EXPECT_NE(ask(raw, add).find("\"id\":" + std::to_string(i)), std::string::npos);
    }
    EXPECT_NE(ask(raw, add).find("has 64 faults already"), std::string::npos);
}

// ---- Who may ask ----

TEST_F(Control, TheSocketIsTheServersOwnAndEndsWithIt) {
    serve("memory:1M");
    struct stat info {};
    ASSERT_EQ(::stat(control_path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u);
    EXPECT_EQ(info.st_uid, geteuid());
    const std::string socket = control_path();
    EXPECT_EQ(stop_server(), 0);
    EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST_F(Control, TheSocketOfAKilledServerIsRemovedByTheNext) {
    serve("memory:1M");
    const std::string socket = control_path();
    server_->signal(SIGKILL);
    server_->wait();
    ASSERT_TRUE(std::filesystem::exists(socket));
    serve("memory:1M");
    EXPECT_FALSE(std::filesystem::exists(socket));
}

// The line of the server for a process of another user; "refused" if it cannot connect.
std::string answer_to_stranger(const std::string& socket, const std::string& line) {
    int channel[2];
    EXPECT_EQ(::pipe(channel), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const uid_t nobody = 65534;
        char answer[4096] = "refused";
        ssize_t bytes = 7;
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
        const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        if (::setuid(nobody) == 0 &&
            ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            static_cast<void>(::send(fd, line.data(), line.size(), MSG_NOSIGNAL));
            bytes = ::recv(fd, answer, sizeof answer, 0);
        }
        if (bytes > 0) static_cast<void>(!::write(channel[1], answer, static_cast<size_t>(bytes)));
        ::_exit(0);
    }
    ::close(channel[1]);
    std::string answer;
    char part[4096];
    for (ssize_t n = 0; (n = ::read(channel[0], part, sizeof part)) > 0;) {
        answer.append(part, static_cast<size_t>(n));
    }
    ::close(channel[0]);
    ::waitpid(child, nullptr, 0);
    return answer;
}

TEST_F(Control, AnotherUserIsRefused) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: needs root to become another user";
    serve("memory:1M");
    ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
    const std::string line = std::string(list_line) + "\n";
    EXPECT_EQ(answer_to_stranger(control_path(), line), "refused");
    // The credentials are looked at, too, not only the file's mode.
    ASSERT_EQ(::chmod(control_path().c_str(), 0666), 0);
    EXPECT_EQ(answer_to_stranger(control_path(), line),
              "{\"error\":\"only root and the server's own user may change it\"}\n");
    EXPECT_TRUE(eventually([&] { return logged("of user 65534 may not change this server"); }))
        << server_->output();
    EXPECT_EQ(blkscope({"fault", "nbd0", "list"}), "");
}

// A process that is not the server has the server's place.
TEST_F(Control, TheCommandAsksNoOtherProcess) {
    NEEDS("python3");
    serve("memory:1M");
    std::filesystem::remove(control_path());
    const auto impostor = start_process(
        {"python3", "-c",
         "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\n"
         "print('://', flush=True)\nc = s.accept()\ninput()\n",
         control_path()},
        "impostor.log");
    const std::string said = refused({"set", "nbd0", "model=nvme"}, 1);
    EXPECT_NE(said.find("it is process " + std::to_string(impostor->pid())), std::string::npos)
        << said;
    EXPECT_NE(said.find("not the server"), std::string::npos) << said;
}

// ---- Hostile clients ----

TEST_F(Control, NonsenseIsAnsweredAndTheConnectionGoesOn) {
    serve("memory:1M");
    RawClient raw(control_path());
    for (const std::string& line :
         {std::string("nonsense"), std::string(""), std::string("[1, 2"), std::string(1000, '['),
          std::string("\xff\xfe\0x", 4), std::string(R"({"command":"crash","device":"nbd0"})"),
          std::string(R"({"command":"set","device":"nbd0","queue-depth":1e999})")}) {
        EXPECT_EQ(ask(raw, line).rfind("{\"error\":", 0), 0u) << line;
    }
    EXPECT_EQ(ask(raw, list_line), no_faults);
    EXPECT_EQ(ask(raw, list_line + std::string("\n") + list_line), no_faults);
    EXPECT_EQ(raw.receive(std::string(no_faults).size()).size(), std::string(no_faults).size());
}

TEST_F(Control, ALineHasABound) {
    serve("memory:1M");
    RawClient fits(control_path());
    const std::string filled = list_line + std::string(65535 - std::string(list_line).size(), ' ');
    EXPECT_EQ(ask(fits, filled), no_faults);
    RawClient over(control_path());
    EXPECT_EQ(ask(over, filled + " ").rfind("{\"error\":\"a line has 64 KiB at most\"}", 0), 0u);
    EXPECT_TRUE(over.closed());
    RawClient endless(control_path());
    const std::string part(4096, 'x');
    EXPECT_TRUE(eventually([&] { return !endless.send_now(part.data(), part.size()); }));
    EXPECT_EQ(blkscope({"fault", "nbd0", "list"}), "");
}

TEST_F(Control, HalfALineIsClosedAfterFiveSeconds) {
    serve("memory:1M");
    RawClient half(control_path());
    half.text("{\"command\":").send();
    const auto since = Clock::now();
    EXPECT_FALSE(half.hung_up(4s));
    EXPECT_TRUE(half.hung_up(10s));
    EXPECT_LT(Clock::now() - since, 8s);
}

TEST_F(Control, TooManyClientsAreToldSoAndIdleOnesMakeRoom) {
    serve("memory:1M");
    std::vector<std::unique_ptr<RawClient>> idle;
    for (int i = 0; i < 8; ++i) idle.push_back(std::make_unique<RawClient>(control_path()));
    // All eight are accepted before the ninth.
    EXPECT_NE(refused({"fault", "nbd0", "list"}, 1).find("too many requests"), std::string::npos);
    idle.pop_back();
    EXPECT_TRUE(eventually([&] {
        return run({BLKSCOPE_BINARY, "fault", "nbd0", "list"}).status == 0;
    }));
    Client client(uri());
    EXPECT_EQ(client.try_read(0, 512), 0);
}

// Clients that ask, and take no answer or close at once.
TEST_F(Control, AClientThatTakesNoAnswerDelaysItselfOnly) {
    serve("memory:1M", {"--fault", "read:error=EIO;after=1000000"});
    std::string many;
    for (int i = 0; i < 1000; ++i) many += std::string(list_line) + "\n";
    RawClient deaf(control_path());
    deaf.send_now(many.data(), many.size(), MSG_DONTWAIT);
    for (int i = 0; i < 50; ++i) {
        RawClient vanishing(control_path());
        vanishing.send_now(many.data(), std::string(list_line).size() + 1);
    }
    EXPECT_TRUE(eventually([&] {
        return run({BLKSCOPE_BINARY, "fault", "nbd0", "list"}).status == 0;
    }));
    EXPECT_EQ(stop_server(), 0) << server_->output();
}

// ---- Reloads ----

TEST_F(Control, AReloadAppliesModelsInPlace) {
    configure(R"({"name": "a", "backing": "memory:1M"})");
    serve_with({"--config", path("lab.json")});
    Client client(uri("a"));
    ASSERT_EQ(client.try_write(0, 512, 's'), 0);
    configure(R"({"name": "a", "backing": "memory:1M", "queue-depth": 3, "limit": "iops=1000",
        "model": "read=const:400ms", "faults": ["write:error=ENOSPC"]})");
    reload("0 added, 0 replaced, 0 removed, 1 changed in place\n");
    EXPECT_GE(read_time(client), 400ms);
    EXPECT_EQ(client.try_write(0, 512), ENOSPC);
    EXPECT_TRUE(logged("blkscope: nbd0: queue-depth=3\n")) << server_->output();
    EXPECT_TRUE(logged("blkscope: nbd0: fault write:error=ENOSPC\n")) << server_->output();
    reload("0 added, 0 replaced, 0 removed\n");
    // The file is compared with what holds now.
    blkscope({"set", "nbd0", "model=none"});
    blkscope({"fault", "nbd0", "clear"});
    EXPECT_EQ(client.try_write(0, 512, 't'), 0);
    reload("0 added, 0 replaced, 0 removed, 1 changed in place\n");
    EXPECT_EQ(client.try_write(0, 512), ENOSPC);
    EXPECT_GE(read_time(client), 400ms);
    configure(R"({"name": "a", "backing": "memory:1M"})");
    reload("1 changed in place\n");
    EXPECT_EQ(client.read(0, 512), std::vector<char>(512, 't'));
    EXPECT_LT(read_time(client), 400ms);
}

TEST_F(Control, AReloadUndoesASeed) {
    configure(R"({"name": "a", "backing": "memory:1M", "model": "read=exp:1us"})");
    serve_with({"--config", path("lab.json")});
    reload("0 added, 0 replaced, 0 removed\n");
    blkscope({"set", "nbd0", "model=read=exp:1us,seed=7"});
    reload("0 added, 0 replaced, 0 removed, 1 changed in place\n");
    EXPECT_TRUE(logged("blkscope: nbd0: model=read=exp:1us\n")) << server_->output();
    EXPECT_EQ(blkscope({"list", "-v"}).find("seed=7"), std::string::npos);
    reload("0 added, 0 replaced, 0 removed\n");
}

TEST_F(Control, ABadRuleInTheFileChangesNothing) {
    configure(R"({"name": "a", "backing": "memory:1M"}, {"name": "b", "backing": "memory:1M"})");
    serve_with({"--config", path("lab.json")});
    Client client(uri("a"));
    configure(R"({"name": "a", "backing": "memory:1M", "faults": ["write:error=EPERM"]},
        {"name": "b", "backing": "memory:1M", "faults": ["write:error=EPERM;sectors=2048-2049"]})");
    reload("everything stays as it was\n");
    EXPECT_EQ(client.try_write(0, 512), 0);
}

TEST_F(Control, WithoutAFileAReloadBringsTheCommandLineBack) {
    serve("memory:1M", {"--fault", "write:error=EPERM"});
    Client client(uri());
    blkscope({"fault", "nbd0", "clear"});
    EXPECT_EQ(client.try_write(0, 512), 0);
    reload("reloaded the command line: 0 added, 0 replaced, 0 removed, 1 changed in place\n");
    EXPECT_EQ(client.try_write(0, 512), EPERM);
    EXPECT_TRUE(server_->running());
}

// The end of a terminal is a SIGHUP as well.
TEST_F(Control, AServerOfATerminalEndsWithIt) {
    NEEDS("python3");
    const std::string said = succeed({"python3", "-c",
                                      "import os, pty, sys, time\n"
                                      "pid, terminal = pty.fork()\n"
                                      "if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n"
                                      "text = b''\n"
                                      "while b'://' not in text: text += os.read(terminal, 4096)\n"
                                      "os.close(terminal)\n"
                                      "print('ended with', os.waitpid(pid, 0)[1])\n",
                                      BLKSCOPE_BINARY, "serve", "memory:1M"});
    EXPECT_NE(said.find("ended with 0\n"), std::string::npos) << said;
}

// The server has its descriptors back before its end: a sanitizer checks memory by a pipe.
TEST_F(Control, AServerWithoutADescriptorKeepsItsTerminal) {
    NEEDS("python3");
    const std::string said =
        succeed({"python3", "-c",
                 "import os, pty, resource, signal, sys\n"
                 "pid, terminal = pty.fork()\n"
                 "if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n"
                 "def read_until(word):\n"
                 "    text = b''\n"
                 "    while word not in text: text += os.read(terminal, 4096)\n"
                 "read_until(b'://')\n"
                 "hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]\n"
                 "resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))\n"
                 "os.kill(pid, signal.SIGHUP)\n"
                 "read_until(b'reload')\n"
                 "resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))\n"
                 "os.kill(pid, signal.SIGTERM)\n"
                 "print('ended with', os.waitpid(pid, 0)[1])\n",
                 BLKSCOPE_BINARY, "serve", "memory:1M"});
    EXPECT_NE(said.find("ended with 0\n"), std::string::npos) << said;
}

// Exports come and go while clients of the control socket change them.
TEST_F(Control, ChangesAndReloadsMayCross) {
    const std::string kept = R"({"name": "a", "backing": "memory:1M"})";
    const std::string more = R"(,{"name": "b", "backing": "memory:1M"})";
    configure(kept + more);
    serve_with({"--config", path("lab.json")});
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (const char* device : {"nbd0", "nbd1", "nbd2"}) {
        threads.emplace_back([&, name = std::string(device)] {
            RawClient raw(control_path());
            const std::string lead = R"({"device":")" + name + R"(","command":)";
            for (int i = 0; !done; ++i) {
                ask(raw, lead + (i % 2 == 0 ? R"("set","model":"all=exp:100us","queue-depth":2})"
                                            : R"("set","model":"none","limit":"iops=5000"})"));
                ask(raw, lead + R"("fault-add","rule":"read:delay=exp:100us;chance=1/3"})");
                ask(raw, lead + R"("fault-clear"})");
            }
        });
    }
    threads.emplace_back([&] {
        Client client(uri("a"));
        while (!done) EXPECT_EQ(client.try_read(0, 4096), 0);
    });
    threads.emplace_back([&] {
        while (!done) {
            try {
                Client client(uri("b"));
                while (!done && client.try_read(0, 4096) == 0) {
                }
            } catch (const std::runtime_error&) {  // the export is not there now
            }
        }
    });
    for (int i = 0; i < 30; ++i) {
        configure(kept);
        reload("1 removed");
        configure(kept + more);
        reload("1 added");
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(stop_server(), 0) << server_->output();
}

}  // namespace
}  // namespace blkscope::test
