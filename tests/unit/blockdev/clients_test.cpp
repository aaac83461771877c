// The statistics of clients: they add up to the disk's, whatever clients come and go.

#include "blockdev/accounting/clients.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "blockdev/accounting/io_counts.hpp"
#include "device_fixture.hpp"

namespace blkscope {
namespace {

constexpr hrtime_t one_second = 1'000'000'000;

Subject subject_of(uint32_t client_stats) {
    Subject subject;
    subject.client_stats = client_stats;
    return subject;
}

constexpr std::array counts{&kstat_io_t::reads, &kstat_io_t::writes, &kstat_io_t::wcnt,
                            &kstat_io_t::rcnt};
constexpr std::array bytes{&kstat_io_t::nread, &kstat_io_t::nwritten};

// The areas up to now: a queue that is not empty has an area since its last change.
hrtime_t wait_area(const kstat_io_t& io) {
    return io.wlentime - io.wlastupdate * io.wcnt;
}
hrtime_t run_area(const kstat_io_t& io) {
    return io.rlentime - io.rlastupdate * io.rcnt;
}

void expect_sum_is_disk(const Clients& clients, const kstat_io_t& disk) {
    const std::vector<const kstat_io_t*> all = clients.counters();
    const auto expect_sum = [&](auto value) {
        decltype(value(disk)) sum{};
        for (const kstat_io_t* io : all) sum += value(*io);
        EXPECT_EQ(sum, value(disk));
    };
    for (const auto count : counts) expect_sum([&](const kstat_io_t& io) { return io.*count; });
    for (const auto each : bytes) expect_sum([&](const kstat_io_t& io) { return io.*each; });
    expect_sum(wait_area);
    expect_sum(run_area);
}

// Up to a dozen connections of eight clients, of which three may have statistics of their own.
class Crowd {
  public:
    void act() {
        now_ += std::uniform_int_distribution<hrtime_t>(0, one_second / 10)(random_);
        switch (random_() % 8) {
            case 0:
                return connect();
            case 1:
                return disconnect();
            case 2:
            case 3:
                return enter();
            case 4:
            case 5:
                return start();
            default:
                return end();
        }
    }
    void finish() {
        while (!waiting_.empty()) start();
        while (!running_.empty()) end();
        while (!connections_.empty()) disconnect();
    }

    Seqlock seq;
    IoCounts io{seq, subject_of(3)};
    Clients clients{seq, subject_of(3)};

  private:
    struct Connection {
        Client* client = nullptr;
        ConnectionFigures figures;
        unsigned requests = 0;
    };
    struct Request : TestBuf {
        using TestBuf::TestBuf;
        Connection* connection = nullptr;
    };

    void connect() {
        if (connections_.size() == 12) return;
        auto connection = std::make_unique<Connection>();
        const ClientIdentity who{.key = std::to_string(random_() % 8)};
        connection->client = &clients.open(who, connection->figures, now_);
        connections_.push_back(std::move(connection));
    }
    void disconnect() {
        const auto idle = std::ranges::find(
            connections_, 0U, [](const auto& connection) { return connection->requests; });
        if (idle == connections_.end()) return;
        const auto closed = clients.close(*(*idle)->client, (*idle)->figures, now_);
        if (closed) clients.take_over_connections(*closed);
        if (closed) clients.take_over_closed(*closed);
        connections_.erase(idle);
    }
    void enter() {
        if (connections_.empty()) return;
        const auto op = random_() % 4 == 0   ? Buf::Op::flush
                        : random_() % 2 == 0 ? Buf::Op::read
                                             : Buf::Op::write;
        auto request = std::make_unique<Request>(op, 0, 512 * (1 + random_() % 8));
        request->connection = connections_[random_() % connections_.size()].get();
        request->client = request->connection->client;
        ++request->connection->requests;
        request->state = Buf::State::waiting;
        request->queued = now_;
        io.entered(*request);
        clients.entered(*request);
        waiting_.push_back(std::move(request));
    }
    void start() {
        if (waiting_.empty()) return;
        waiting_.front()->state = Buf::State::running;
        waiting_.front()->started = now_;
        io.started(*waiting_.front());
        clients.started(*waiting_.front());
        running_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    void end() {
        if (running_.empty()) return;
        std::swap(running_.front(), running_[random_() % running_.size()]);
        running_.front()->finished = now_;
        io.ended(*running_.front());
        clients.ended(*running_.front());
        --running_.front()->connection->requests;
        running_.pop_front();
    }

    std::mt19937 random_{20261123};
    hrtime_t now_ = 0;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::deque<std::unique_ptr<Request>> waiting_;
    std::deque<std::unique_ptr<Request>> running_;
};

TEST(Clients, AddUpToTheDiskToTheTickAtAnyMoment) {
    Crowd crowd;
    for (int i = 0; i < 20'000 && !::testing::Test::HasFailure(); ++i) {
        crowd.act();
        expect_sum_is_disk(crowd.clients, crowd.io.disk());
    }
    crowd.finish();
    expect_sum_is_disk(crowd.clients, crowd.io.disk());
    EXPECT_EQ(crowd.clients.counters().size(), 2u);  // of others, and of closed ones
    EXPECT_GT(crowd.clients.counters()[0]->reads, 0u);
    EXPECT_GT(crowd.clients.counters()[1]->reads, 0u);
}

TEST(Clients, OfBothNamesTheFirstIsThatOfTheStatistics) {
    const Seqlock seq;
    Clients clients(seq, subject_of(1));
    const ConnectionFigures figures;
    Client& alice = clients.open({.key = "a", .tls_name = "alice"}, figures, 0);
    Client& bob = clients.open({.key = "b", .tls_name = "bob"}, figures, 0);
    EXPECT_EQ(bob.name, "");  // there is no place for statistics of its own
    const std::vector<std::pair<std::string, std::string>> names{{"client-1", "alice"}};
    EXPECT_EQ(clients.tls_names(), names);
    for (Client* const client : {&alice, &bob}) {
        const auto closed = clients.close(*client, figures, 0);
        if (closed) clients.take_over_connections(*closed);
        if (closed) clients.take_over_closed(*closed);
    }
}

class ClientKstats : public DeviceTest {
  protected:
    void SetUp() override {
        DeviceTest::SetUp();
        backing_ = nullptr;
        auto backing = std::make_unique<ScriptedBacking>(device_bytes, 1U);
        backing_ = backing.get();
        give(std::move(backing), DeviceOptions{.queue_depth = 4, .client_stats = 2});
    }
    void TearDown() override {
        ring_->unlock();
        DeviceTest::TearDown();
    }

    static ClientIdentity who(const std::string& key) {
        return {.key = key, .peer = "peer " + key, .program = "program", .uid = 1000, .pid = 7};
    }
    Client& open(const std::string& key, const ConnectionFigures& figures) {
        return device_->first_lane().open_client(who(key), figures);
    }
    void close(Client& client, const ConnectionFigures& figures) {
        device_->first_lane().close_client(client, figures);
    }
    void read(Client& client, int32_t result = 4096) {
        TestBuf buf(Buf::Op::read);
        buf.client = &client;
        device_->strategy(buf);
        finish_first(result);
        EXPECT_EQ(buf.done, 1);
    }

    static bool exists(const std::string& name) { return !read_data("nbd", name).empty(); }
    static uint_t reads(const std::string& name) { return read_record<kstat_io_t>(name).reads; }
    static uint64_t number(const std::string& kstat, const std::string& record) {
        const auto data = read_data("nbd", kstat);
        for (size_t at = 0; at + sizeof(kstat_named_t) <= data.size();
             at += sizeof(kstat_named_t)) {
            kstat_named_t named{};
            std::memcpy(&named, data.data() + at, sizeof named);
            if (record == named.name) return named.value.ui64;
        }
        ADD_FAILURE() << "no record " << record << " in kstat " << kstat;
        return 0;
    }
};

TEST_F(ClientKstats, ConnectionsWithOneKeyAreOneClient) {
    ConnectionFigures one;
    ConnectionFigures other;
    Client& client = open("a", one);
    EXPECT_EQ(&open("a", other), &client);
    read(client);
    EXPECT_EQ(reads("nbd0,client-1"), 1u);
    EXPECT_EQ(number("nbd0,client-1,info", "connections"), 2u);
    close(client, one);
    EXPECT_EQ(number("nbd0,client-1,info", "connections"), 1u);
    EXPECT_EQ(number("nbd0,client-1,info", "connections_total"), 2u);
    close(client, other);
    EXPECT_FALSE(exists("nbd0,client-1"));
    EXPECT_FALSE(exists("nbd0,client-1,info"));
}

TEST_F(ClientKstats, InfoCountsCommandsErrorsMemoryAndStalls) {
    ConnectionFigures figures{.held_bytes = 8192, .stalls = 3};
    Client& client = open("a", figures);
    read(client);
    read(client, -EIO);
    EXPECT_EQ(number("nbd0,client-1,info", "read_requests"), 2u);
    EXPECT_EQ(number("nbd0,client-1,info", "read_bytes"), 4096u);
    EXPECT_EQ(number("nbd0,client-1,info", "read_errors"), 1u);
    EXPECT_EQ(number("nbd0,client-1,info", "uid"), 1000u);
    EXPECT_EQ(number("nbd0,client-1,info", "held_bytes"), 8192u);
    EXPECT_EQ(number("nbd0,client-1,info", "stalls"), 3u);
    figures.held_bytes = 0;
    close(client, figures);
    EXPECT_EQ(number("nbd0,client-gone,info", "read_errors"), 1u);
    EXPECT_EQ(number("nbd0,client-gone,info", "stalls"), 3u);
    EXPECT_EQ(number("nbd0,client-gone,info", "connections"), 0u);
    EXPECT_EQ(number("nbd0,client-gone,info", "connections_total"), 1u);
}

TEST_F(ClientKstats, AClientBeyondTheBoundIsOther) {
    ConnectionFigures figures;
    Client& first = open("a", figures);
    Client& second = open("b", figures);
    Client& third = open("c", figures);
    read(third);
    EXPECT_FALSE(exists("nbd0,client-3"));
    EXPECT_EQ(reads("nbd0,client-other"), 1u);
    close(third, figures);
    EXPECT_EQ(reads("nbd0,client-other"), 1u);
    EXPECT_EQ(reads("nbd0,client-gone"), 0u);
    close(second, figures);
    close(first, figures);
}

TEST_F(ClientKstats, APlaceRestsAndItsNumberIsNeverUsedAgain) {
    Seqlock seq;
    Clients clients(seq, subject_of(1));
    ConnectionFigures figures;
    const auto own = [&](hrtime_t from, hrtime_t to) {
        Client& client = clients.open(who("a"), figures, from);
        const bool has_own = clients.counters().size() == 3;
        EXPECT_EQ(clients.close(client, figures, to) != nullptr, has_own);
        return has_own;
    };
    EXPECT_TRUE(own(0, 5 * one_second));
    EXPECT_FALSE(own(6 * one_second, 14 * one_second));
    EXPECT_TRUE(own(15 * one_second, 16 * one_second));

    Client& old = open("a", figures);
    close(old, figures);
    Client& late = open("a", figures);
    EXPECT_FALSE(exists("nbd0,client-1"));
    EXPECT_TRUE(exists("nbd0,client-2"));
    close(late, figures);
}

TEST_F(ClientKstats, ADeviceWithoutClientsHasNone) {
    TestBuf buf(Buf::Op::read);
    device_->strategy(buf);
    finish_first(4096);
    EXPECT_FALSE(exists("nbd0,client-other"));
    EXPECT_FALSE(exists("nbd0,client-gone"));
}

}  // namespace
}  // namespace blkscope
