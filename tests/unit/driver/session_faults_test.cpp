// Fault rules that concern the connection: a disconnect, and requests that hang when their client or
// their export ends. Clients that vanish while their requests wait. A worker without a thread serves.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "../blockdev/scripted_backing.hpp"
#include "../temporary_folder.hpp"
#include "blockdev/backing/backing.hpp"
#include "blockdev/ring/kernel.hpp"
#include "driver/nbd/transmission/session_limits.hpp"
#include "driver/nbd/transmission/worker.hpp"
#include "parser_driver.hpp"

namespace blkscope::nbd {
namespace {

constexpr uint64_t faulty_bytes = uint64_t{1} << 20;
constexpr size_t reply_bytes = 16;
constexpr size_t page_bytes = 4096;

// The last flush of an export ends at once.
class HoldingBacking final : public ScriptedBacking {
  public:
    using ScriptedBacking::ScriptedBacking;
    std::optional<int32_t> prepare(Buf& buf) override {
        if (buf.op == Buf::Op::flush) return 0;
        return ScriptedBacking::prepare(buf);
    }
};

class SessionFaults : public ::testing::Test {
  protected:
    void SetUp() override {
        worker_.when_connection_ended([this] { ++closed_; });
        worker_.begin();
    }
    void TearDown() override {
        close_client();
        if (export_) worker_.close_export(std::move(export_));
        worker_.stop();
        turn_until([&] { return worker_.finished(); });
    }

    void serve(const std::string& rule, uint32_t depth) {
        Behaviour behaviour;
        behaviour.faults.push_back(model::FaultRule::parse(rule, faulty_bytes, {}));
        serve(std::move(behaviour), depth, {});
        client_ = connect("client");
    }
    void serve(Behaviour behaviour, uint32_t depth, StartOrder order) {
        serve(std::move(behaviour), depth, order, open_backing("memory:1M", {}));
    }
    void serve(Behaviour behaviour, uint32_t depth, StartOrder order,
               std::unique_ptr<Backing> backing) {
        ExportOptions options{.name = "memory",
                              .description = {},
                              .backing = std::move(backing),
                              .instance = kstat::claim_instance("nbd"),
                              .queue_depth = depth,
                              .order = order};
        options.behaviour = std::move(behaviour);
        export_ = worker_.make_export(std::move(options));
    }
    /// Requests stay in the device until finish().
    void serve_scripted() {
        auto backing = std::make_unique<HoldingBacking>(faulty_bytes);
        scripted_ = backing.get();
        serve(Behaviour{}, 512, {}, std::move(backing));
        client_ = connect("client");
    }
    void finish(size_t count) {
        for (; count > 0; --count) {
            scripted_->finish_first(static_cast<int32_t>(scripted_->held.front()->bcount));
        }
    }
    [[nodiscard]] hrtime_t ns_of(hrtime_t ticks) {
        return kernel_ns(worker_.ring().kernel(), ticks);
    }
    /// A new connection of the client with this key.
    int connect(const std::string& key) {
        std::array<int, 2> sockets{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
        worker_.hand_over(*export_, {}, sockets[1], nullptr, ClientIdentity{.key = key});
        return sockets[0];
    }
    void send_reads(int count) {
        std::string stream;
        for (int i = 0; i < count; ++i) {
            testing::append_request(stream, ReplyForm::simple,
                                    {.type = Command::read, .length = 512});
        }
        ASSERT_EQ(send(client_, stream.data(), stream.size(), 0),
                  static_cast<ssize_t>(stream.size()));
    }
    template <class Done>
    void turn_until(Done done) {
        for (int turns = 0; !done(); ++turns) {
            ASSERT_LT(turns, 100);
            worker_.wait();
            worker_.turn();
        }
    }
    void close_client() {
        if (client_ >= 0) close(std::exchange(client_, -1));
    }
    /// Sends writes of a page of this value, one behind the other.
    static void send_writes(int client, int count, char value) {
        std::string stream;
        for (int i = 0; i < count; ++i) {
            testing::append_request(stream, ReplyForm::simple,
                                    {.type = Command::write, .length = page_bytes});
            stream.append(page_bytes, value);
        }
        ASSERT_EQ(send(client, stream.data(), stream.size(), MSG_DONTWAIT),
                  static_cast<ssize_t>(stream.size()));
    }
    /// A newer client writes the page after this client, whose writes wait, was killed. The old
    /// writes must not follow.
    void expect_new_writes_stay() {
        close_client();
        const int newer = connect("newer");
        send_writes(newer, 1, 'n');
        std::array<char, reply_bytes> reply{};
        turn_until([&] { return recv(newer, reply.data(), reply.size(), MSG_DONTWAIT) > 0; });
        turn_until([&] { return closed_ == 1; });
        close(newer);
        turn_until([&] { return closed_ == 2; });
        std::array<std::byte, page_bytes> page{};
        auto backing = export_->device.backing().another();
        ASSERT_NE(backing, nullptr);
        ASSERT_TRUE(backing->read_now(0, page));
        EXPECT_EQ(page[0], std::byte{'n'});
    }
    [[nodiscard]] uint32_t running() const { return export_->device.io().rcnt; }

    const test::RunFolder folder_;
    Worker worker_{false};
    std::unique_ptr<Export> export_;
    ScriptedBacking* scripted_ = nullptr;
    int client_ = -1;
    unsigned closed_ = 0;
};

TEST_F(SessionFaults, ADisconnectClosesTheConnectionInsteadOfAnAnswer) {
    serve("read:disconnect;after=1", 8);
    send_reads(1);
    std::array<char, 1024> reply{};
    turn_until([&] { return recv(client_, reply.data(), 1, MSG_PEEK | MSG_DONTWAIT) == 1; });
    EXPECT_EQ(recv(client_, reply.data(), reply.size(), 0), ssize_t{reply_bytes + 512});
    send_reads(1);
    turn_until([&] { return closed_ == 1; });
    EXPECT_EQ(recv(client_, reply.data(), reply.size(), 0), 0);
}

TEST_F(SessionFaults, HungRequestsEndWithTheirClient) {
    serve("read:hang", 1);
    send_reads(3);
    turn_until([&] { return running() == 1; });
    close_client();
    turn_until([&] { return closed_ == 1; });
    EXPECT_EQ(running(), 0u);
    EXPECT_EQ(export_->device.io().wcnt, 0u);
}

TEST_F(SessionFaults, HungRequestsEndWithTheirExport) {
    serve("all:hang", 8);
    send_reads(2);
    turn_until([&] { return running() == 2; });
    worker_.close_export(std::move(export_));
    turn_until([&] { return closed_ == 1; });
    std::array<unsigned char, 1024> replies{};
    ASSERT_EQ(recv(client_, replies.data(), replies.size(), 0), ssize_t{2 * reply_bytes});
    EXPECT_EQ(replies[7], ESHUTDOWN);
    EXPECT_EQ(replies[reply_bytes + 7], ESHUTDOWN);
    EXPECT_TRUE(worker_.all_flushed());
}

TEST_F(SessionFaults, WritesThatWaitForTokensEndWithTheirClient) {
    Behaviour behaviour;
    behaviour.client_limits = model::LimitSpec::parse("iops=1");
    serve(std::move(behaviour), 8, {});
    client_ = connect("older");
    send_writes(client_, 4, 'o');
    turn_until([&] { return export_->device.io().writes > 0; });
    EXPECT_GT(export_->device.io().wcnt, 0u);
    expect_new_writes_stay();
}

TEST_F(SessionFaults, WritesThatWaitForTheirTurnEndWithTheirClient) {
    Behaviour behaviour;
    behaviour.model = model::ModelSpec::parse("all=const:500ms", {});
    serve(std::move(behaviour), 1, StartOrder::fair);
    client_ = connect("older");
    send_writes(client_, 4, 'o');
    const kstat_io_t& io = export_->device.io();
    turn_until([&] { return io.writes + io.rcnt + io.wcnt == 4; });
    EXPECT_GT(io.wcnt, 0u);
    expect_new_writes_stay();
}

// Nothing is received from a client that has 256 requests in hand.
TEST_F(SessionFaults, AClientAtItsLimitOfRequestsEndsToo) {
    Behaviour behaviour;
    behaviour.client_limits = model::LimitSpec::parse("iops=1");
    serve(std::move(behaviour), 512, {});
    client_ = connect("older");
    for (int i = 0; i < 10; ++i) {
        send_writes(client_, 26, 'o');
        for (int turns = 0; turns < 10; ++turns) {
            worker_.ring().wake();
            worker_.wait();
            worker_.turn();
        }
    }
    EXPECT_GT(export_->device.io().wcnt, 200u);
    expect_new_writes_stay();
}

// One receive brings all of them, so those behind the first that waits have waited for as long.
TEST_F(SessionFaults, ARequestHasTheTimeForWhichItWaitedForMemory) {
    constexpr size_t waiting = 3;
    serve_scripted();
    send_reads(requests_held_max + waiting);
    turn_until([&] { return scripted_->held.size() == requests_held_max; });
    for (const Buf* buf : scripted_->held) EXPECT_EQ(buf->held_back, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    finish(waiting);
    turn_until([&] { return scripted_->held.size() == requests_held_max; });
    for (auto buf = scripted_->held.end() - waiting; buf != scripted_->held.end(); ++buf) {
        EXPECT_GE(ns_of((*buf)->held_back), 2'000'000);
    }
    finish(requests_held_max);
    turn_until([&] { return running() == 0; });
}

TEST_F(SessionFaults, TheTimeInWhichAClientSendsItsDataIsNoWaitForMemory) {
    serve_scripted();
    std::string stream;
    testing::append_request(stream, ReplyForm::simple,
                            {.type = Command::write, .length = page_bytes});
    ASSERT_EQ(send(client_, stream.data(), stream.size(), 0), static_cast<ssize_t>(stream.size()));
    for (int i = 0; i < 3; ++i) {
        worker_.ring().wake();
        worker_.wait();
        worker_.turn();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::string page(page_bytes, 'p');
    ASSERT_EQ(send(client_, page.data(), page.size(), 0), static_cast<ssize_t>(page.size()));
    turn_until([&] { return scripted_->held.size() == 1; });
    const Buf& write = *scripted_->held.front();
    EXPECT_EQ(write.held_back, 0);
    EXPECT_GE(ns_of(write.queued - write.received), 2'000'000);
    finish(1);
    turn_until([&] { return running() == 0; });
}

}  // namespace
}  // namespace blkscope::nbd
