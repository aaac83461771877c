// How a process publishes: its socket, its thread, its children, and readers that misbehave.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "kstat/provider/publish.hpp"

namespace blkscope {

namespace {

namespace fs = std::filesystem;

class KstatPublish : public KstatProcesses {
  protected:
    fs::path path_of(pid_t pid) const { return fs::path(directory) / socket_of(pid); }

    int connect_to(pid_t pid) const {
        const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_un address = address_of(path_of(pid));
        EXPECT_EQ(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return socket;
    }
};

TEST_F(KstatPublish, TheSocketIsAnyonesToConnectToAndGoneAfterExit) {
    ReadyChild child(provide_counter("one"));
    const fs::path path = path_of(child.pid());
    EXPECT_EQ(fs::status(path).permissions(), fs::perms(0666));
    child.line().say('q');
    EXPECT_EQ(child.wait(), 0);
    EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(KstatPublish, TheRunDirectoryIsMadeIfItIsNotThere) {
    setenv("KSTAT_DIR", (directory + "/made").c_str(), 1);
    const ReadyChild child(provide_counter("one"));
    EXPECT_EQ(fs::status(directory + "/made").permissions(), fs::perms(0755));
    open();
    EXPECT_NE(lookup("one"), nullptr);
}

TEST_F(KstatPublish, AProviderWithoutARunDirectoryWarnsOnceAndGoesOn) {
    setenv("KSTAT_DIR", (directory + "/not/there").c_str(), 1);
    const std::string log = directory + "/log";
    ReadyChild child([&](const Line& line) {
        if (freopen(log.c_str(), "w", stderr) == nullptr) return;
        for (int i = 0; i < 3; ++i) {
            kstat_install(kstat_create("one", i, nullptr, "misc", KSTAT_TYPE_RAW, 4, 0));
        }
        line.say('r');
    });
    EXPECT_EQ(child.wait(), 0);
    std::ifstream file(log);
    std::string first;
    std::string second;
    std::getline(file, first);
    EXPECT_NE(first.find("making the run directory " + directory), std::string::npos) << first;
    EXPECT_FALSE(std::getline(file, second)) << second;
}

TEST_F(KstatPublish, TheBackgroundThreadLeavesAllSignalsToTheProgram) {
    const ReadyChild child(provide_counter("one"));
    int threads_that_block = 0;
    const fs::path tasks = "/proc/" + std::to_string(child.pid()) + "/task";
    for (const auto& task : fs::directory_iterator(tasks)) {
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (!line.starts_with("SigBlk:")) continue;
            // All but SIGKILL, SIGSTOP and the C library's own two.
            constexpr unsigned long all = 0xfffffffe7ffbfeff;
            if ((std::stoul(line.substr(7), nullptr, 16) & all) == all) ++threads_that_block;
        }
    }
    EXPECT_GE(threads_that_block, 1);
}

TEST_F(KstatPublish, AForkedChildNeitherServesItsParentsSocketNorKeepsItAlive) {
    ChildProcess parent([](const Line& line) {
        kstat_install(kstat_create("parent", 0, "p", "misc", KSTAT_TYPE_RAW, 4, 0));
        if (fork_while_others_sleep() == 0) {
            // The name is free in the child: it has a chain of its own.
            kstat_install(kstat_create("child", 0, "c", "misc", KSTAT_TYPE_RAW, 4, 0));
            kstat_install(kstat_create("parent", 0, "p", "misc", KSTAT_TYPE_RAW, 8, 0));
            line.say('c');
            line.hear();  // ends when the test's end of the line does
            std::exit(0);
        }
        line.hear();
    });
    ASSERT_EQ(parent.line().hear(), 'c');
    open();
    EXPECT_NE(lookup("child"), nullptr);
    EXPECT_EQ(lookup("parent")->ks_next == nullptr, false);
    parent.kill();
    EXPECT_NE(kstat_chain_update(kc), 0);
    EXPECT_NE(lookup("child"), nullptr);
    EXPECT_EQ(lookup("parent")->ks_ndata, 8u);  // the child's; the parent's is removed
    EXPECT_NE(kstat_read(kc, lookup("child"), nullptr), -1);
}

TEST_F(KstatPublish, AProgramsOwnIoContextServesUntilItIsUnpublished) {
    ReadyChild child([](const Line& line) {
        boost::asio::io_context io;
        kstat::publish_on(io);
        kstat_install(kstat_create("own", 0, "o", "misc", KSTAT_TYPE_RAW, 4, 0));
        std::thread control([&io] { io.run(); });
        take_turns(line);
        boost::asio::post(io, [] { kstat::unpublish(); });
        control.join();  // out of work, nothing else keeps it
        line.say('u');
        line.hear();
    });
    open();
    EXPECT_NE(kstat_read(kc, lookup("own"), nullptr), -1);
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'u');
    EXPECT_TRUE(fs::is_empty(directory));
    EXPECT_EQ(kstat_read(kc, lookup("own"), nullptr), -1);
    EXPECT_EQ(errno, ENXIO);
}

// The exit status of a child of fork() that does this.
int status_of_child(const std::function<bool()>& succeeds) {
    if (fork() == 0) {
        alarm(10);
        _exit(succeeds() ? 0 : 1);
    }
    int status = -1;
    wait(&status);
    return status;
}

// The connection's number is free for the program as soon as the connection is closed.
TEST_F(KstatPublish, AForkedChildKeepsADescriptorWithTheNumberOfAClosedConnection) {
    const ChildProcess child([&](const Line& line) {
        int ends[2];
        if (pipe(ends) != 0) return;
        boost::asio::io_context io;
        kstat::publish_on(io);
        connect_to(getpid());
        io.run_one();  // accepts it
        kstat::unpublish();
        std::array<int, 16> copies{};
        for (int& copy : copies) copy = dup(ends[1]);
        const int status = status_of_child([&] {
            return std::all_of(copies.begin(), copies.end(),
                               [](int copy) { return write(copy, "x", 1) == 1; });
        });
        line.say(status == 0 ? 'g' : 'b');
    });
    EXPECT_EQ(child.line().hear(), 'g');
}

TEST_F(KstatPublish, AChildMaySetRightsThoughAnotherThreadSetSomeAtTheFork) {
    const ChildProcess child([](const Line& line) {
        boost::asio::io_context io;
        kstat::publish_on(io);
        std::atomic<bool> done{false};
        std::thread other([&] {
            while (!done) kstat::set_zone(1, "/one");
        });
        int status = 0;
        // A busy machine has time for fewer.
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        for (int i = 0; i < 300 && status == 0; ++i) {
            if (i > 10 && std::chrono::steady_clock::now() > end) break;
            status = status_of_child([] { return kstat::set_zone(2, "/two"), true; });
        }
        done = true;
        other.join();
        line.say(status == 0 ? 'g' : 'b');
    });
    EXPECT_EQ(child.line().hear(), 'g');
}

TEST_F(KstatPublish, PublishOnThrowsWhereItCannotPublish) {
    setenv("KSTAT_DIR", (directory + "/not/there").c_str(), 1);
    boost::asio::io_context io;
    EXPECT_THROW(kstat::publish_on(io), std::system_error);
}

TEST_F(KstatPublish, PublishingTwiceIsAnErrorAndTheSocketGoesWithTheIoContext) {
    {
        boost::asio::io_context io;
        kstat::publish_on(io);
        EXPECT_TRUE(fs::exists(path_of(getpid())));
        EXPECT_THROW(kstat::publish_on(io), std::system_error);
    }
    EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(KstatPublish, AReaderThatStopsHalfWayThroughARequestHoldsUpNobody) {
    const ReadyChild child(provide_counter("one"));
    const int lazy = connect_to(child.pid());
    ASSERT_EQ(send(lazy, "half", 4, MSG_NOSIGNAL), 4);
    open();
    for (int i = 0; i < 10; ++i) EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
    close(lazy);
}

TEST_F(KstatPublish, ARequestLongerThanAnyReaderSendsEndsItsConnection) {
    const ReadyChild child(provide_counter("one"));
    const int greedy = connect_to(child.pid());
    const uint32_t head[4] = {0xffffffff, 4, 1, 0};
    ASSERT_EQ(send(greedy, head, sizeof head, MSG_NOSIGNAL), ssize_t{sizeof head});
    char byte;
    EXPECT_EQ(recv(greedy, &byte, 1, 0), 0);
    close(greedy);
}

TEST_F(KstatPublish, AReaderThatWasPushedOutByManyOthersComesBackUnnoticed) {
    const ReadyChild child(provide_counter("one"));
    open();
    const kstat_t* const place = lookup("one");
    std::vector<int> others;
    for (int i = 0; i < 300; ++i) others.push_back(connect_to(child.pid()));
    // Those that were accepted last are answered last: the first has been pushed out by then.
    char byte;
    EXPECT_EQ(recv(others.front(), &byte, 1, 0), 0);
    EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
    EXPECT_EQ(kstat_chain_update(kc), 0);
    EXPECT_EQ(lookup("one"), place);
    for (const int socket : others) close(socket);
}

TEST_F(KstatPublish, AProviderWithoutFreeDescriptorsServesReadersInTurn) {
    const ReadyChild child([](const Line& line) {
        kstat_install(kstat_create("one", 0, "counter", "misc", KSTAT_TYPE_RAW, 4, 0));
        take_turns(line);
        const rlimit few{64, 64};
        if (setrlimit(RLIMIT_NOFILE, &few) != 0) return;
        while (dup(0) >= 0) continue;
        line.say('f');
        line.hear();
    });
    open();
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'f');
    kstat_ctl_t* const other = kstat_open();
    ASSERT_NE(other, nullptr);
    ASSERT_NE(kstat_lookup(other, "one", -1, nullptr), nullptr);
    for (int i = 0; i < 3; ++i) {
        EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
        EXPECT_NE(kstat_read(other, kstat_lookup(other, "one", -1, nullptr), nullptr), -1);
    }
    kstat_close(other);
}

uint64_t address_space_bytes() {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// There is memory for half of the large kstat. An answer needs a copy, and so does what a reader writes.
TEST_F(KstatPublish, AProviderWithoutMemoryForAnAnswerGoesOn) {
    if (BLKSCOPE_SANITIZED) GTEST_SKIP() << "SKIPPED: a sanitizer needs all of the address space";
    constexpr uint_t bytes = 64 << 20;
    const ReadyChild child([](const Line& line) {
        kstat_install(
            kstat_create("large", 0, "l", "misc", KSTAT_TYPE_RAW, bytes, KSTAT_FLAG_WRITABLE));
        kstat_install(kstat_create("one", 0, "counter", "misc", KSTAT_TYPE_RAW, 4, 0));
        take_turns(line);
        const uint64_t most = address_space_bytes() + bytes / 2;
        const rlimit little{most, most};
        if (setrlimit(RLIMIT_AS, &little) != 0) return;
        line.say('l');
        line.hear();
    });
    open();
    kstat_t* const large = lookup("large");
    // A busy machine may need more time for so many bytes than a reader has.
    ASSERT_TRUE(eventually([&] { return kstat_read(kc, large, nullptr) != -1; }));
    kstat_chain_update(kc);
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'l');
    EXPECT_EQ(kstat_read(kc, large, nullptr), -1);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(kstat_write(kc, large, nullptr), -1);
    EXPECT_EQ(errno, ENXIO);
    EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
}

// The welcome of a provider, or nothing if it has closed the connection.
size_t greet(int socket) {
    const uint32_t hello[6] = {8, 1, 1, 0, 0x54'41'54'53, 1};
    EXPECT_EQ(send(socket, hello, sizeof hello, MSG_NOSIGNAL), ssize_t{sizeof hello});
    std::array<char, 256> reply;
    const ssize_t bytes = recv(socket, reply.data(), reply.size(), 0);
    return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

TEST_F(KstatPublish, AnotherUsersManyConnectionsPushOutNoReader) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root becomes another user";
    const ReadyChild child(provide_counter("one"));
    const int reader = connect_to(child.pid());
    ASSERT_GT(greet(reader), 0U);
    const ChildProcess other([&](const Line& line) {
        if (setuid(65534) != 0) return;
        std::vector<int> sockets;
        for (int i = 0; i < 600; ++i) sockets.push_back(connect_to(child.pid()));
        line.say(greet(sockets.back()) > 0 ? 'c' : 'n');
        line.hear();
    });
    ASSERT_EQ(other.line().hear(), 'c');
    EXPECT_GT(greet(reader), 0U);
    close(reader);
}

TEST_F(KstatPublish, FewConnectionsWaitForAStoppedProvider) {
    const ReadyChild child(provide_counter("one"));
    child.stop();
    const sockaddr_un address = address_of(path_of(child.pid()));
    std::vector<int> waiting;
    bool connected = true;
    while (connected && waiting.size() < 500) {
        waiting.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        connected = connect(waiting.back(), reinterpret_cast<const sockaddr*>(&address),
                            sizeof address) == 0;
    }
    EXPECT_LE(waiting.size(), 100U);
    for (const int socket : waiting) close(socket);
}

TEST_F(KstatPublish, AProcessThatConnectsInALoopDelaysNoReader) {
    const ReadyChild child(provide_counter("one"));
    const auto connect_for_ever = [&](const Line& line) {
        line.say('c');
        for (;;) close(connect_to(child.pid()));
    };
    const ChildProcess one(connect_for_ever);
    const ChildProcess two(connect_for_ever);
    const ChildProcess three(connect_for_ever);
    for (const ChildProcess* loop : {&one, &two, &three}) ASSERT_EQ(loop->line().hear(), 'c');
    for (int i = 0; i < 20; ++i) {
        open();
        ASSERT_NE(lookup("one"), nullptr) << "at opening " << i;
        EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
        kstat_close(kc);
        kc = nullptr;
    }
}

}  // namespace

}  // namespace blkscope
