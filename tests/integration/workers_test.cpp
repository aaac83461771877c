// Several workers for one disk: which client gets which worker. Counts, flushes, reloads and the
// end of the server hold for the clients of all of them.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "raw_client.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

class Workers : public ServedDevice {
  protected:
    [[nodiscard]] size_t threads() const {
        const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(server_->pid()) +
                                                        "/task");
        size_t count = 0;
        for (const auto& task : tasks) {
            std::string name;
            std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
            // Not the kernel's own, which come and go.
            if (name.rfind("iou-", 0) != 0) ++count;
        }
        return count;
    }

    std::unique_ptr<Client> connect(const std::string& export_name = "") {
        auto client = std::make_unique<Client>(uri(export_name));
        EXPECT_EQ(client->try_read(0, 4096), 0);
        return client;
    }

    void configure(const std::string& exports) {
        std::ofstream(path("lab.json")) << "{\"listen\": [\"unix:" + socket_ +
                                               "\"], \"limits\": {\"workers\": 3}, \"exports\": [" +
                                               exports + "]}";
    }
};

TEST_F(Workers, AreMadeWhenClientsNeedThemAndNoMoreThanAllowed) {
    serve("memory:8M", {"--workers", "3"});
    const auto first = connect();
    const size_t alone = threads();
    std::vector<std::unique_ptr<Client>> others;
    for (const size_t more : {1U, 2U, 2U, 2U}) {
        others.push_back(connect());
        EXPECT_EQ(threads(), alone + more);
    }
    EXPECT_EQ(read_io().reads, 5u);
    others.clear();
    ASSERT_TRUE(eventually([&] { return read_command_count("connections") == 1; }));
    others.push_back(connect());
    EXPECT_EQ(threads(), alone + 2);  // those there are serve again
    EXPECT_EQ(read_command_count("connections_total"), 6u);
}

TEST_F(Workers, OneServesAllIfThatIsWanted) {
    serve("memory:8M", {"--workers", "1"});
    const auto first = connect();
    const size_t alone = threads();
    const auto second = connect();
    EXPECT_EQ(threads(), alone);
}

// Each of them writes and reads a part of its own, and flushes sometimes. The device's depth is too
// small for all of them.
TEST_F(Workers, CountWhatTheirClientsDoToTheLastRequest) {
    for (const std::string& backing : {std::string("memory:8M"), make_image("disk.img", 8 * mib)}) {
        serve(backing, {"--workers", "3", "--queue-depth", "2"});
        constexpr size_t clients = 6;
        constexpr unsigned rounds = 150;
        std::atomic<unsigned> wrong{0};
        std::vector<std::thread> threads;
        for (size_t who = 0; who < clients; ++who) {
            threads.emplace_back([&, who] {
                Client client(uri());
                std::mt19937 random(static_cast<unsigned>(who));
                for (unsigned i = 0; i < rounds; ++i) {
                    const uint64_t at = who * mib + random() % 200 * 4096;
                    const char fill = static_cast<char>('a' + random() % 26);
                    if (client.try_write(at, 4096, fill) != 0) ++wrong;
                    if (i % 16 == 0 && nbd_flush(client.get(), 0) != 0) ++wrong;
                    if (client.read(at, 4096) != std::vector<char>(4096, fill)) ++wrong;
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(wrong, 0u);
        const kstat_io_t io = read_io();
        EXPECT_EQ(io.reads, clients * rounds);
        EXPECT_EQ(io.writes, clients * rounds);
        EXPECT_EQ(io.nread, clients * rounds * 4096);
        EXPECT_EQ(io.wcnt + io.rcnt, 0u);
        EXPECT_EQ(read_command_count("flush_requests"), clients * ((rounds + 15) / 16));
        EXPECT_LE(read_command_count("syncs"), read_command_count("flush_requests"));
        EXPECT_EQ(stop_server(), 0);
    }
}

// CAN_MULTI_CONN: a write that one connection got an answer for is visible to all, of every worker.
// A flush of one connection makes the writes of all stable.
TEST_F(Workers, ShowEachOtherWhatTheyWrote) {
    serve(make_image("disk.img", 8 * mib), {"--workers", "3"});
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 4; ++i) clients.push_back(connect());
    EXPECT_EQ(nbd_can_multi_conn(clients[0]->get()), 1);
    for (unsigned i = 0; i < 200; ++i) {
        const uint64_t at = i * 4096;
        const char fill = static_cast<char>('a' + i % 26);
        ASSERT_EQ(clients[i % 4]->try_write(at, 4096, fill), 0);
        ASSERT_EQ(clients[(i + 1) % 4]->read(at, 4096), std::vector<char>(4096, fill)) << i;
    }
    ASSERT_EQ(nbd_trim(clients[2]->get(), mib, 0, 0), 0);
    EXPECT_EQ(clients[3]->read(0, 4096), std::vector<char>(4096, '\0'));
    EXPECT_EQ(nbd_flush(clients[3]->get(), 0), 0);
}

TEST_F(Workers, AnExportThatGoesTakesItsClientsOfAllWorkersWithIt) {
    const std::string a = R"({"name": "a", "backing": "memory:1M"})";
    const std::string b = R"({"name": "b", "backing": "memory:2M"})";
    configure(a + "," + b);
    serve_with({"--config", path("lab.json")});
    std::vector<std::unique_ptr<Client>> of_a;
    std::vector<std::unique_ptr<Client>> of_b;
    for (int i = 0; i < 4; ++i) {
        of_a.push_back(connect("a"));
        of_b.push_back(connect("b"));
    }
    configure(b);
    server_->signal(SIGHUP);
    for (const auto& client : of_a) {
        EXPECT_TRUE(eventually([&] { return client->try_read(0, 4096) != 0; }));
    }
    for (const auto& client : of_b) EXPECT_EQ(client->try_read(0, 4096), 0);
    EXPECT_EQ(read_command_count("connections", "nbd1"), 4u);
    EXPECT_TRUE(eventually([&] {
        const std::unique_ptr<kstat_ctl_t, int (*)(kstat_ctl_t*)> chain(kstat_open(), kstat_close);
        return kstat_lookup(chain.get(), nullptr, -1, "nbd0") == nullptr;
    }));
    // And again, so that lanes that went come back.
    configure(a + "," + b);
    server_->signal(SIGHUP);
    ASSERT_TRUE(eventually([&] { return run({"nbdinfo", "--size", uri("a")}).status == 0; }));
    of_a.clear();
    for (int i = 0; i < 4; ++i) of_a.push_back(connect("a"));
    EXPECT_EQ(stop_server(), 0);
}

TEST_F(Workers, AtTheEndOfTheServerAllAreAnswered) {
    serve(make_image("disk.img", 8 * mib), {"--workers", "2", "--queue-depth", "1"});
    RawClient one(socket_);
    RawClient two(socket_);
    constexpr size_t requests = 40;
    for (RawClient* client : {&one, &two}) {
        client->enter_transmission();
        for (size_t i = 0; i < requests; ++i) client->request(0, i * 4096, 4096);
        ASSERT_TRUE(client->send());
    }
    ASSERT_TRUE(eventually([&] {
        const kstat_io_t io = read_io();
        return io.reads + io.wcnt + io.rcnt == 2 * requests;  // accepted, all of them
    }));
    server_->signal(SIGTERM);
    for (RawClient* client : {&one, &two}) {
        const size_t bytes = requests * (nbd::simple_reply_bytes + 4096);
        EXPECT_EQ(client->receive(bytes).size(), bytes);
    }
    EXPECT_EQ(server_->wait(), 0);
}

// The client does not read its replies, and belongs to another worker than the export.
TEST_F(Workers, AClientThatNeverReadsHoldsUpTheEndForSomeSecondsOnly) {
    serve("memory:8M", {"--workers", "2"});
    const auto first = connect();
    RawClient mute(socket_, "");
    for (int i = 0; i < 100; ++i) mute.request(0, 0, 131072);
    ASSERT_TRUE(mute.send());
    uint64_t before = 0;
    ASSERT_TRUE(eventually([&] {  // the socket takes no more
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return std::exchange(before, read_io().reads) == read_io().reads && before > 1;
    }));
    EXPECT_EQ(stop_server(), 0);
    EXPECT_NE(server_->output().find("does not read its replies"), std::string::npos)
        << server_->output();
}

// The client would read its replies. It is owed none.
TEST_F(Workers, AClientWhoseRequestsHangIsNotSaidToReadNothing) {
    serve("memory:1M", {"--model", "read=const:9s"});
    RawClient client(socket_, "");
    client.request(0, 0, 4096);
    ASSERT_TRUE(client.send());
    ASSERT_TRUE(eventually([&] { return read_io().rcnt == 1; }));
    EXPECT_EQ(stop_server(), 0);
    EXPECT_NE(server_->output().find("the backing has not answered 1 of its requests"),
              std::string::npos)
        << server_->output();
}

}  // namespace
}  // namespace blkscope::test
