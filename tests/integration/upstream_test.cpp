// blkscope in front of other servers: what they offer, and what happens when they end.
#include <gtest/gtest.h>
#include <libnbd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "trace/file.hpp"
#include "trace/join.hpp"
#include "upstream_device.hpp"

namespace blkscope::test {
namespace {

TEST_F(Upstream, NbdkitIsOfferedAsItIs) {
    NEEDS("nbdkit");
    const std::string image = make_data("disk.img");
    const std::string up = uri_at("up.sock");
    start_upstream({"nbdkit", "-f", "-U", path("up.sock"), "file", image}, up);
    expect_equal_in_front_of(up);
}

TEST_F(Upstream, AServerThatCanDoLittleIsOfferedAsItIs) {
    NEEDS("nbdkit");
    const std::string image = make_data("disk.img");
    const std::string up = uri_at("up.sock");
    start_upstream({"nbdkit", "-f", "-r", "--no-sr", "-U", path("up.sock"), "file", image}, up);
    serve("disk=" + up);
    const nlohmann::json info = info_of(uri());
    for (const char* ability : {"can_fua", "can_trim", "can_zero", "can_fast_zero"}) {
        EXPECT_EQ(info[ability], false) << ability;
    }
    EXPECT_EQ(info["is_read_only"], true);
    EXPECT_TRUE(info["contexts"].empty());
    Client client(uri());
    EXPECT_EQ(client.read(3 * mib, 4), (std::vector<char>(4, 'd')));
    EXPECT_EQ(client.try_write(0, 512), EPERM);
}

TEST_F(Upstream, EachAbilityIsOfferedExactlyIfTheServerHasIt) {
    NEEDS("nbdkit");
    const std::string image = make_data("disk.img");
    const std::string up = uri_at("up.sock");
    // Without a word, the filter fua takes FUA away.
    const std::vector<std::vector<std::string>> lacks{{"fua"},
                                                      {"fua", "fuamode=force"},
                                                      {"nozero", "zeromode=none"},
                                                      {"nozero", "fastzeromode=none"},
                                                      {"nocache", "cachemode=none"},
                                                      {"nocache", "cachemode=nop"},
                                                      {"noextents"}};
    for (const std::vector<std::string>& lack : lacks) {
        SCOPED_TRACE(lack.back());
        std::vector<std::string> command{
            "nbdkit", "-f", "--filter=" + lack.front(), "-U", path("up.sock"), "file", image};
        command.insert(command.end(), lack.begin() + 1, lack.end());
        start_upstream(command, up);
        serve("disk=" + up);
        expect_same_offer(up);
        stop_server();
        upstream_.reset();
        std::filesystem::remove(path("up.sock"));
        std::filesystem::remove(socket_);
    }
}

TEST_F(Upstream, QemuNbdIsOfferedAsItIs) {
    NEEDS("qemu-nbd");
    const std::string image = make_data("disk.img");
    const std::string up = uri_at("up.sock", "disk");
    start_upstream(
        {"qemu-nbd", "-t", "-e", "16", "-f", "raw", "-x", "disk", "-k", path("up.sock"), image},
        up);
    expect_equal_in_front_of(up);
}

TEST_F(Upstream, AQcow2ImageIsOfferedAsItIs) {
    NEEDS("qemu-nbd");
    NEEDS("qemu-img");
    succeed({"qemu-img", "convert", "-O", "qcow2", make_data("disk.img"), path("disk.qcow2")});
    const std::string up = uri_at("up.sock", "disk");
    start_upstream({"qemu-nbd", "-t", "-e", "16", "-f", "qcow2", "-x", "disk", "-k",
                    path("up.sock"), path("disk.qcow2")},
                   up);
    expect_equal_in_front_of(up);
}

TEST_F(Upstream, NbdServerIsOfferedAsItIs) {
    NEEDS("nbd-server");
    const std::string image = make_data("disk.img");
    std::ofstream(path("nbd.conf"))
        << "[generic]\nunixsock = " << path("up.sock") << "\n[disk]\nexportname = " << image
        << "\nflush = true\nfua = true\ntrim = true\n";
    const std::string up = uri_at("up.sock", "disk");
    succeed({"nbd-server", "-C", path("nbd.conf"), "-p", path("nbd.pid")});
    ASSERT_TRUE(eventually([&] { return run({"nbdinfo", "--size", up}).status == 0; }));
    expect_equal_in_front_of(up);
    pid_t pid = 0;
    std::ifstream(path("nbd.pid")) >> pid;
    ASSERT_GT(pid, 1);
    kill(pid, SIGTERM);
    // Its last act is to remove this file. The test's folder is removed afterwards.
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(path("nbd.pid")); }));
}

TEST_F(Upstream, OurOwnServerIsOfferedAsItIs) {
    make_data("disk.img");
    start_ours();
    expect_equal_in_front_of(our_uri());
}

TEST_F(Upstream, AServerWithoutAPlaceForAllConnectionsIsOneLineAtTheStart) {
    make_data("disk.img");
    start_ours("disk.img", {"--max-connections", "2"});
    const std::string said =
        refused({"serve", our_uri(), "--unix", path("us.sock"), "--upstream-connections", "4"}, 1);
    EXPECT_NE(said.find("(2 of 4 connections)"), std::string::npos) << said;
}

// Writes that were not flushed may be lost with the server that was killed.
TEST_F(Upstream, ALossIsToldToEachConnectionThatWasThere) {
    serve_chain();
    Client writer(uri());
    Client other(uri());
    ASSERT_EQ(writer.try_write(0, 4096), 0);
    kill_upstream();
    start_ours();
    EXPECT_EQ(other.try_read(0, 4096), 0);
    Client later(uri());
    EXPECT_EQ(try_flush(later), 0);
    EXPECT_EQ(try_flush(writer), EIO);
    EXPECT_EQ(try_flush(writer), 0);
    EXPECT_EQ(other.try_write(0, 4096, 'x', LIBNBD_CMD_FLAG_FUA), EIO);
    EXPECT_EQ(other.try_write(0, 4096, 'x', LIBNBD_CMD_FLAG_FUA), 0);
    EXPECT_EQ(state(), "connected");
}

// One client with four connections writes on one of them, and may flush on any.
TEST_F(Upstream, ALossIsToldOnEachOfAClientsFourConnections) {
    serve_chain({"--upstream-connections", "4"});
    std::array<Client, 4> client{Client(uri()), Client(uri()), Client(uri()), Client(uri())};
    ASSERT_EQ(client[0].try_write(0, 4096), 0);
    ASSERT_EQ(client[1].try_write(8192, 4096), 0);
    kill_upstream();
    start_ours();
    for (const size_t which : {2u, 0u, 3u, 1u}) {
        EXPECT_EQ(try_flush(client[which]), EIO) << which;
        EXPECT_EQ(try_flush(client[which]), 0) << which;
    }
}

TEST_F(Upstream, SeveralConnectionsAreMadeIfTheServerAllowsThem) {
    serve_chain({"--upstream-connections", "4"});
    EXPECT_EQ(Client(uri()).try_read(0, 4096), 0);
    EXPECT_EQ(connections(), "4");
    kill_upstream();
    start_ours();
    EXPECT_EQ(Client(uri()).try_read(0, 4096), 0);
    EXPECT_EQ(connections(), "4");
    EXPECT_EQ(server_->output().find("one connection"), std::string::npos);
}

TEST_F(Upstream, AServerThatAllowsOneConnectionGetsOne) {
    NEEDS("nbdkit");
    const std::string image = make_data("disk.img");
    const std::string up = uri_at("up.sock");
    start_upstream({"nbdkit", "-f", "--filter=multi-conn", "-U", path("up.sock"), "file", image,
                    "multi-conn-mode=disable"},
                   up);
    serve("disk=" + up, {"--upstream-connections", "4"});
    ASSERT_TRUE(eventually([&] { return run({"nbdinfo", "--size", uri()}).status == 0; }));
    EXPECT_EQ(Client(uri()).try_read(0, 4096), 0);
    EXPECT_EQ(connections(), "1");
    EXPECT_NE(server_->output().find("one connection instead of 4"), std::string::npos);
}

TEST_F(Upstream, WithoutUnflushedWritesALossIsToldToNobody) {
    serve_chain();
    Client client(uri());
    ASSERT_EQ(client.try_write(0, 4096, 'x'), 0);
    ASSERT_EQ(try_flush(client), 0);
    ASSERT_EQ(client.try_write(4096, 4096, 'x', LIBNBD_CMD_FLAG_FUA), 0);
    kill_upstream();
    start_ours();
    EXPECT_EQ(try_flush(client), 0);
}

TEST_F(Upstream, KilledUnderLoadItLosesNothing) {
    serve_chain();
    Client client(uri());
    expect_no_loss(client, "abcdef", [&] {
        kill_upstream();
        start_ours();
    });
}

TEST_F(Upstream, FioVerifiesWhatItWroteWhileTheServerIsKilled) {
    NEEDS("fio");
    serve_chain();
    Process fio({"fio", "--name=verify", "--ioengine=nbd", "--uri=" + uri(), "--rw=randwrite",
                 "--bs=4k", "--size=16M", "--iodepth=16", "--verify=crc32c", "--rate_iops=4000",
                 "--verify_state_save=0"},
                path("fio.log"));
    for (int kills = 0; kills < 3 && fio.running(); ++kills) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        kill_upstream();
        start_ours();
    }
    EXPECT_EQ(fio.wait(), 0) << fio.output();
}

TEST_F(Upstream, AStoppedServerCostsItsTimeAndThenComesBack) {
    serve_chain({"--upstream-timeout", "1", "--upstream-settle", "0"});
    Client client(uri());
    ASSERT_EQ(client.try_read(0, 4096), 0);
    upstream_->signal(SIGSTOP);
    EXPECT_EQ(client.try_write(0, 4096), EIO);
    EXPECT_EQ(client.try_read(0, 4096), EIO);
    upstream_->signal(SIGCONT);
    EXPECT_TRUE(eventually([&] { return client.try_read(0, 4096) == 0; }));
    EXPECT_EQ(client.try_write(0, 4096), 0);
}

// The stopped server still has the write that failed, and runs it when it goes on.
TEST_F(Upstream, AWriteOfAStoppedServerNeverReplacesANewerOne) {
    serve_chain({"--upstream-timeout", "1"});
    Client client(uri());
    for (const char fill : {'a', 'b', 'c'}) {
        ASSERT_EQ(client.try_write(0, 65536, '0', LIBNBD_CMD_FLAG_FUA), 0);
        upstream_->signal(SIGSTOP);
        EXPECT_EQ(client.try_write(0, 65536, '1', LIBNBD_CMD_FLAG_FUA), EIO);
        upstream_->signal(SIGCONT);
        const auto began = std::chrono::steady_clock::now();
        ASSERT_TRUE(
            eventually([&] { return client.try_write(0, 4096, fill, LIBNBD_CMD_FLAG_FUA) == 0; }));
        EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(900));
        EXPECT_EQ(client.read(0, 4096), std::vector<char>(4096, fill));
        EXPECT_EQ(client.read(4096, 4096), std::vector<char>(4096, '1'));
    }
}

TEST_F(Upstream, AnotherSizeIsUselessUntilAReload) {
    make_data("disk.img");
    make_image("larger.img", 2 * image_bytes);
    start_ours();
    configure(R"({"name": "disk", "backing": ")" + our_uri() + R"("})");
    serve_with({"--config", path("lab.json")});
    Client client(uri());
    ASSERT_EQ(client.try_read(0, 512), 0);
    kill_upstream();
    start_ours("larger.img");
    EXPECT_EQ(client.try_read(0, 512), EIO);
    EXPECT_EQ(state(), "changed");
    reload("0 added, 1 replaced, 0 removed");
    Client newer(uri());
    EXPECT_EQ(nbd_get_size(newer.get()), static_cast<int64_t>(2 * image_bytes));
    EXPECT_EQ(newer.try_read(0, 512), 0);
}

TEST_F(Upstream, ListShowsTheStateOfAnUpstreamAndItsCounts) {
    serve_chain({"--upstream-timeout", "1"});
    Client client(uri());
    ASSERT_EQ(client.try_read(0, 4096), 0);
    EXPECT_EQ(blkscope({"list"}).find("upstream"), std::string::npos);
    std::string listed = blkscope({"list", "-v"});
    EXPECT_NE(
        listed.find(
            "upstream connected, connections 1, reconnects 0, resent 0, losses 0, round trip "),
        std::string::npos)
        << listed;
    kill_upstream();
    EXPECT_EQ(client.try_read(0, 4096), EIO);
    listed = blkscope({"list"});
    EXPECT_NE(listed.find("upstream waiting, connections 0, reconnects 0, "), std::string::npos)
        << listed;
    start_ours();
    EXPECT_EQ(client.try_read(0, 4096), 0);
    listed = blkscope({"list", "-v"});
    EXPECT_NE(listed.find("upstream connected, connections 1, reconnects 1, "), std::string::npos)
        << listed;
}

// The service at the first server has the wait and the service of the second in it.
TEST_F(Upstream, EachRequestOfAChainTakesLongerAtTheFirstThanAtTheSecond) {
    NEEDS("fio");
    make_data("disk.img");
    upstream_ = serve_beside("disk=" + path("disk.img"), "up.sock",
                             {"--queue-depth", "4", "--model", "read=exp:300us,write=exp:200us"});
    serve("disk=" + our_uri(), {"--queue-depth", "12"});
    succeed({"fio", "--name=load", "--ioengine=nbd", "--uri=" + uri(), "--rw=randrw",
             "--bssplit=512/20:4k/60:64k/20", "--size=32M", "--io_size=16M", "--iodepth=16",
             "--fsync=64"});
    const trace::Trace first = recorded("nbd1");
    const trace::Trace second = recorded("nbd0");
    std::map<uint64_t, const trace::Request*> by_cookie;
    for (const trace::Request& each : second.requests) {
        if (each.received == 0) continue;
        EXPECT_TRUE(by_cookie.emplace(each.cookie, &each).second);
    }
    size_t joined = 0;
    for (const trace::Request& each : first.requests) {
        if (each.upstream_cookie == 0) {
            EXPECT_EQ(each.op, trace::Op::flush);  // one flush at the second is for several
            continue;
        }
        ASSERT_TRUE(by_cookie.contains(each.upstream_cookie)) << trace::name_of(each.op);
        const trace::Request& there = *by_cookie.at(each.upstream_cookie);
        EXPECT_EQ(there.op, each.op);
        EXPECT_EQ(there.bytes, each.bytes);
        EXPECT_GE(each.finished - each.started, there.finished - there.queued);
        ++joined;
    }
    EXPECT_GT(joined, 500u);
    EXPECT_EQ(trace::join(first, second).pairs.size(), joined);
    const std::string text =
        blkscope({"explain", path("nbd1.trace"), "--upstream", path("nbd0.trace")});
    EXPECT_NE(text.find(": " + std::to_string(joined) + " of "), std::string::npos) << text;
    EXPECT_NE(text.find("Most of the time, "), std::string::npos) << text;
}

TEST_F(Upstream, AChainIsExplainedWhileItRuns) {
    NEEDS("fio");
    serve_chain();
    Process fio(
        {"fio", "--name=load", "--ioengine=nbd", "--uri=" + uri(), "--rw=randread", "--bs=4k",
         "--size=32M", "--iodepth=8", "--rate_iops=4000", "--time_based", "--runtime=60"},
        path("fio.log"));
    ASSERT_TRUE(eventually([&] { return recorded("nbd1").requests.size() > 100; }));
    const std::string text = blkscope({"explain", "nbd1", "0.5", "--upstream", "nbd0"});
    fio.signal(SIGTERM);
    fio.wait();
    size_t joined = 0;
    size_t all = 0;
    ASSERT_EQ(std::sscanf(text.c_str(), "nbd1 in front of nbd0: %zu of %zu ", &joined, &all), 2)
        << text;
    EXPECT_GT(joined, 0u);
    EXPECT_GE(joined * 100, all * 95) << text;
    EXPECT_NE(text.find("Most of the time, "), std::string::npos) << text;
}

TEST_F(Upstream, AChainOfADeviceAndAFileIsRefused) {
    EXPECT_NE(refused({"explain", "nbd1", "--upstream", "nbd0.trace"}, 2)
                  .find("give two devices, or two files"),
              std::string::npos);
    EXPECT_NE(refused({"explain", "--upstream", "nbd0"}, 2).find("give two devices"),
              std::string::npos);
    refused({"explain", path("none"), "--upstream", path("absent")}, 1);
    std::ofstream(path("cut.trace")) << "\x89"
                                        "BLKSC\r\n";
    EXPECT_NE(refused({"explain", path("cut.trace"), "--upstream", path("cut.trace")}, 1)
                  .find("cut off within its header"),
              std::string::npos);
}

TEST_F(Upstream, AnAbsentServerIsOneLineAtTheStart) {
    const std::string said = refused({"serve", our_uri(), "--unix", path("us.sock")}, 1);
    EXPECT_NE(said.find("No such file"), std::string::npos) << said;
}

TEST_F(Upstream, TheStartMayWaitForTheServer) {
    make_data("disk.img");
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        start_ours();
    });
    serve("disk=" + our_uri(), {"--upstream-wait"});
    later.join();
    ASSERT_TRUE(eventually([&] { return run({"nbdinfo", "--size", uri()}).status == 0; }));
    EXPECT_EQ(Client(uri()).try_read(0, 512), 0);
}

TEST_F(Upstream, TheStartMayWaitForTheServersOfAFile) {
    make_data("disk.img");
    configure(R"({"name": "local", "backing": "memory:1M"}, {"name": "disk", "backing": ")" +
              our_uri() + R"("})");
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        start_ours();
    });
    serve_with({"--config", path("lab.json"), "--upstream-wait"});
    later.join();
    ASSERT_TRUE(eventually([&] { return run({"nbdinfo", "--size", uri("disk")}).status == 0; }));
    reload("0 added, 0 replaced, 0 removed");
}

TEST_F(Upstream, AStartThatWaitsCanBeEnded) {
    Process waiting(
        {BLKSCOPE_BINARY, "serve", our_uri(), "--unix", path("us.sock"), "--upstream-wait"},
        path("out"));
    ASSERT_TRUE(
        eventually([&] { return waiting.output().find("waiting for it") != std::string::npos; }));
    waiting.signal(SIGTERM);
    EXPECT_EQ(waiting.wait(), 128 + SIGTERM);
}

TEST_F(Upstream, AnAbsentServerDelaysNoEnd) {
    serve_chain();
    {
        Client client(uri());
        ASSERT_EQ(client.try_read(0, 4096), 0);
    }
    kill_upstream();
    const auto began = std::chrono::steady_clock::now();
    stop_server();
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

}  // namespace
}  // namespace blkscope::test
