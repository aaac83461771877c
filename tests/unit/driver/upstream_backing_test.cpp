// A device in front of another server. The test is that server, at the other end of pairs of sockets.

#include "driver/nbd/client/upstream_backing.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "blockdev/device/device.hpp"
#include "sent_request.hpp"

namespace blkscope::nbd {
namespace {

namespace flag = transmission_flag;
using std::chrono::milliseconds;

constexpr uint64_t remote_bytes = uint64_t{1} << 20;
constexpr uint16_t all_flags = flag::has_flags | flag::send_flush | flag::send_fua |
                               flag::send_trim | flag::send_write_zeroes | flag::send_cache;
constexpr milliseconds long_time{60'000};

RemoteExport remote_export(uint64_t size_bytes = remote_bytes) {
    RemoteExport remote;
    remote.size_bytes = size_bytes;
    remote.transmission_flags = all_flags;
    return remote;
}

// The connections that the test has made ready; a failure if there is none.
struct Ready {
    std::deque<RemoteConnection> connections;
    size_t per_attempt = 1;
    int attempts = 0;
    milliseconds look_time{0};  // of a connection for a look
};

class ScriptedDialer final : public UpstreamDialer {
  public:
    explicit ScriptedDialer(Ready& ready) : ready_(ready) {}
    void begin(milliseconds) override { ++ready_.attempts; }
    std::optional<DialResult> result() override { return take(ready_.per_attempt); }
    DialResult dial_now(milliseconds) override {
        std::this_thread::sleep_for(ready_.look_time);
        return take(1);
    }

  private:
    DialResult take(size_t count) {
        if (ready_.connections.size() < count) return {.failure = "absent"};
        DialResult result;
        for (; count > 0; --count) {
            result.connections.push_back(std::move(ready_.connections.front()));
            ready_.connections.pop_front();
        }
        return result;
    }

    Ready& ready_;
};

// A caller of the device, as a session is.
struct Asked : Buf {
    bool done = false;
    bool has_client = true;
    [[nodiscard]] bool wanted() const override { return has_client; }
};

// On a busy machine the server of a test answers late, and a look is no failure then.
constexpr LookLimits patient{.first_max = long_time, .max = long_time, .slow = long_time};

class UpstreamBackingTest : public ::testing::Test {
  protected:
    UpstreamBackingTest() : ring_(64) { ring_.enable(); }
    ~UpstreamBackingTest() override { device_.reset(); }

    /// A connection whose other end is the last of servers_.
    RemoteConnection connection(const RemoteExport& remote = remote_export()) {
        std::array<int, 2> ends{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        servers_.emplace_back(ends[1]);
        return {Descriptor(ends[0]), nullptr, remote};
    }
    void open(const UpstreamOptions& options = {.timeout = long_time, .settle = milliseconds(0)}) {
        open(connection(), options);
    }
    void open(RemoteConnection first, const UpstreamOptions& options) {
        std::vector<RemoteConnection> connections;
        connections.push_back(std::move(first));
        open(std::move(connections), options);
    }
    void open(std::vector<RemoteConnection> first, const UpstreamOptions& options) {
        auto backing =
            std::make_unique<UpstreamBacking>("upstream", std::make_unique<ScriptedDialer>(ready_),
                                              std::move(first), options, looks_);
        backing_ = backing.get();
        std::atomic<bool> opened{false};
        std::thread server([&] { answer_table_reads(opened); });
        device_ =
            std::make_unique<Device>(ring_, std::move(backing), std::nullopt,
                                     DeviceOptions{.queue_depth = 8, .behaviour = behaviour_});
        opened.store(true);
        server.join();
    }
    /// The device blocks in its constructor until it has its partition table.
    void answer_table_reads(const std::atomic<bool>& opened) {
        std::array<std::byte, request_bytes> bytes{};
        while (!opened.load()) {
            const ssize_t got = recv(server().get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (got != static_cast<ssize_t>(bytes.size())) continue;
            const Request request = testing::sent_request(bytes);
            EXPECT_EQ(request.offset % table_block_, 0u);
            EXPECT_EQ(request.length % table_block_, 0u);
            reply(request, table_error_);
            ++reads_at_open_;
        }
    }
    void turn() {
        ring_.wait(false);
        ring_.dispatch();
        ring_.unlock();
    }
    template <class Condition>
    void turn_until(Condition condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            turn();
        }
    }
    Asked& ask(Buf::Op op, uint64_t offset = 0, uint64_t bytes = 512, bool fua = false,
               uint64_t* losses_seen = nullptr, hrtime_t held_back = 0) {
        Asked& buf = asked_.emplace_back();
        buf.held_back = held_back;
        buf.op = op;
        buf.offset = offset;
        buf.bcount = op == Buf::Op::flush ? 0 : bytes;
        buf.fua = fua;
        buf.losses_seen = losses_seen;
        data_.emplace_back(buf.in_queues() ? bytes : 0);
        buf.data = data_.back().data();
        return ask(buf);
    }
    Asked& ask(Asked& buf) {
        buf.iodone = [](Buf& ended) { static_cast<Asked&>(ended).done = true; };
        device_->strategy(buf);
        for (int i = 0; i < 3; ++i) turn();
        return buf;
    }
    /// The errno of a request that the server answers at once.
    int answered(Buf::Op op, uint64_t offset = 0, uint64_t bytes = 512, bool fua = false,
                 uint64_t* losses_seen = nullptr) {
        const Asked& asked = ask(op, offset, bytes, fua, losses_seen);
        reply(receive_request());
        return end(asked);
    }
    /// The flush with which the server ends a device.
    const Asked& ask_last_flush() {
        Asked& buf = asked_.emplace_back();
        buf.op = Buf::Op::flush;
        buf.exempt = true;
        return ask(buf);
    }
    /// A device in use, whose server has a place for the connection of a look.
    RemoteExport open_for_looks() {
        RemoteExport remote = remote_export();
        remote.transmission_flags |= flag::can_multi_conn;
        open(connection(remote), {.timeout = long_time, .settle = milliseconds(0)});
        EXPECT_EQ(answered(Buf::Op::read), 0);
        return remote;
    }
    /// Reads of the table by the device, of one look. Gives whether all went well.
    bool look(int reads = 1) {
        std::atomic<bool> looked{false};
        std::thread server([&] { answer_table_reads(looked); });
        bool well = true;
        std::array<std::byte, 512> to{};
        for (int i = 0; i < reads; ++i) well = backing_->read_now(0, to) && well;
        looked.store(true);
        server.join();
        return well;
    }
    /// A write whose range rests for longer than a request may wait, because an older write has failed.
    const Asked& ask_behind_a_failed_write() {
        open({.timeout = milliseconds(1000), .settle = long_time, .resend = false});
        const Asked& write = ask(Buf::Op::write);
        receive_request();
        end_server();
        EXPECT_EQ(end(write), EIO);
        start_server();
        return ask(Buf::Op::write);
    }
    /// More reads than the depth of the device, with flushes and writes among them.
    std::vector<Asked*> ask_many() {
        std::vector<Asked*> many;
        for (int i = 0; i < 40; ++i) {
            const Buf::Op op = i % 8 == 5   ? Buf::Op::flush
                               : i % 8 == 6 ? Buf::Op::write
                                            : Buf::Op::read;
            many.push_back(&ask(op, static_cast<uint64_t>(i) * 512));
        }
        return many;
    }
    /// All fail, and they do not fail one depth after the other, each after the timeout.
    void expect_eio(const std::vector<Asked*>& many, milliseconds timeout) {
        const auto began = std::chrono::steady_clock::now();
        for (const Asked* asked : many) EXPECT_EQ(end(*asked), EIO);
        EXPECT_LT(std::chrono::steady_clock::now() - began, timeout * 4);
    }
    int end(const Asked& buf) {
        turn_until([&] { return buf.done; });
        return buf.error;
    }

    // ---- The server ----

    Request receive_request() {
        std::array<std::byte, request_bytes> bytes{};
        turn_until([&] {
            return recv(server().get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT) ==
                   static_cast<ssize_t>(bytes.size());
        });
        EXPECT_EQ(recv(server().get(), bytes.data(), bytes.size(), 0),
                  static_cast<ssize_t>(bytes.size()));
        const Request request = testing::sent_request(bytes);
        if (request.type == Command::write) skip(request.length);
        return request;
    }
    void skip(uint64_t bytes) {
        std::vector<std::byte> data(bytes);
        size_t got = 0;
        turn_until([&] {
            const ssize_t part =
                recv(server().get(), data.data() + got, data.size() - got, MSG_DONTWAIT);
            if (part > 0) got += static_cast<size_t>(part);
            return got == data.size();
        });
    }
    bool has_request() {
        for (int i = 0; i < 5; ++i) turn();
        std::byte one{};
        return recv(server().get(), &one, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
    }
    void reply(const Request& request, Error error = Error::none) {
        const bool data = request.type == Command::read && error == Error::none;
        std::vector<std::byte> bytes(simple_reply_bytes + (data ? request.length : 0));
        encode_simple_reply(std::span<std::byte>(bytes).first<simple_reply_bytes>(), error,
                            request.cookie);
        EXPECT_EQ(::send(server().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    void end_server() { server() = Descriptor(); }
    /// The other end of a connection: the latest one, or `before_last_` earlier.
    Descriptor& server() { return servers_[servers_.size() - 1 - before_last_]; }
    /// A device with two connections.
    void open_two() {
        ready_.per_attempt = 2;
        std::vector<RemoteConnection> connections;
        for (int i = 0; i < 2; ++i) connections.push_back(connection());
        before_last_ = 1;  // the device reads its table on the first connection
        open(std::move(connections),
             {.timeout = long_time, .settle = milliseconds(0), .connections = 2});
    }
    /// The request of one of two connections.
    Request receive_on(size_t which) {
        before_last_ = 1 - which;
        return receive_request();
    }
    void reply_on(size_t which, const Request& request, Error error = Error::none) {
        before_last_ = 1 - which;
        reply(request, error);
    }
    /// The connection that gets a read ends, and then both are made again. Gives whether the other one was closed.
    bool lose_both() {
        const Asked& read = ask(Buf::Op::read);
        before_last_ = 1;
        const size_t which = has_request() ? 0 : 1;
        receive_on(which);
        end_server();
        const bool closed = is_closed(1 - which);
        for (int i = 0; i < 2; ++i) start_server();
        reply_on(0, receive_on(0));
        EXPECT_EQ(end(read), 0);
        return closed;
    }
    bool is_closed(size_t which) {
        before_last_ = 1 - which;
        for (int i = 0; i < 5; ++i) turn();
        std::byte one{};
        return recv(server().get(), &one, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    }
    /// A server at the next attempt.
    void start_server(const RemoteExport& remote = remote_export()) {
        ready_.connections.push_back(connection(remote));
    }
    void write_and_reply(uint64_t* losses_seen = nullptr) {
        ASSERT_EQ(answered(Buf::Op::write, 0, 512, false, losses_seen), 0);
    }

    Behaviour behaviour_;
    LookLimits looks_ = patient;
    Ring ring_;
    Ready ready_;
    std::vector<Descriptor> servers_;
    size_t before_last_ = 0;  // the connection that the test is at, counted from the latest
    int reads_at_open_ = 0;
    uint32_t table_block_ = 1;  // each read at the opening has whole blocks of this size
    Error table_error_ = Error::none;
    std::unique_ptr<Device> device_;
    UpstreamBacking* backing_ = nullptr;
    std::deque<Asked> asked_;
    std::deque<std::vector<std::byte>> data_;
};

TEST_F(UpstreamBackingTest, TheDeviceReadsItsTableOnTheFirstConnection) {
    open();
    EXPECT_GT(reads_at_open_, 0);
    EXPECT_EQ(ready_.attempts, 0);
}

TEST_F(UpstreamBackingTest, TheDeviceReadsItsTableInBlocksOfTheServer) {
    table_block_ = 8192;
    RemoteExport remote = remote_export();
    remote.block_size.minimum = table_block_;
    open(connection(remote), {.timeout = long_time, .settle = milliseconds(0)});
    EXPECT_GT(reads_at_open_, 0);
}

TEST_F(UpstreamBackingTest, AnErrorAtTheTableCostsTheTableOnly) {
    table_error_ = Error::eio;
    open();
    EXPECT_GT(reads_at_open_, 0);
    EXPECT_EQ(answered(Buf::Op::read), 0);
    EXPECT_EQ(ready_.attempts, 0);
}

TEST_F(UpstreamBackingTest, AServerThatIsGoneAtTheTableCostsTheTableOnly) {
    RemoteConnection gone = connection();
    end_server();
    open(std::move(gone), {.timeout = long_time, .settle = milliseconds(0)});
    EXPECT_EQ(reads_at_open_, 0);
    start_server();
    EXPECT_EQ(answered(Buf::Op::read), 0);
}

// The first connection has extended headers, and the next one has not.
TEST_F(UpstreamBackingTest, ALongRequestFitsAConnectionWithoutExtendedHeaders) {
    constexpr uint64_t bytes = uint64_t{8} << 30;
    RemoteExport extended = remote_export(bytes);
    extended.terms.replies = ReplyForm::extended;
    RemoteConnection gone = connection(extended);
    end_server();
    open(std::move(gone), {.timeout = long_time, .settle = milliseconds(0)});
    start_server(remote_export(bytes));
    const Asked& trim = ask(Buf::Op::trim, 0, bytes);
    uint64_t trimmed = 0;
    while (trimmed < bytes) {
        const Request part = receive_request();
        ASSERT_EQ(part.offset, trimmed);
        ASSERT_GT(part.length, 0u);
        trimmed += part.length;
        reply(part);
    }
    EXPECT_EQ(end(trim), 0);
    EXPECT_EQ(trim.upstream_cookie, 0u);  // several messages have no cookie together
}

// A look blocks the worker, and each of its reads could be as slow.
TEST_F(UpstreamBackingTest, AfterALookThatFailsTheDeviceLooksNoMoreForATime) {
    const RemoteExport remote = open_for_looks();
    EXPECT_TRUE(backing_->reads_now());
    std::array<std::byte, 512> to{};
    EXPECT_FALSE(backing_->read_now(0, to));  // nothing to connect to
    backing_->looked();
    EXPECT_FALSE(backing_->reads_now());
    start_server(remote);
    EXPECT_FALSE(backing_->read_now(0, to));
    EXPECT_EQ(ready_.connections.size(), 1u);
}

TEST_F(UpstreamBackingTest, AfterALookThatTheServerRefusesTheDeviceLooksNoMoreForATime) {
    const RemoteExport remote = open_for_looks();
    start_server(remote);
    table_error_ = Error::eio;
    EXPECT_FALSE(look());
    EXPECT_TRUE(backing_->reads_now());
    backing_->looked();
    EXPECT_FALSE(backing_->reads_now());
}

// A worker looks after a request without a byte, say. The server takes the read and is silent.
TEST_F(UpstreamBackingTest, ALookBeforeTheFirstRequestIsAsShortAsALaterOne) {
    looks_.max = milliseconds(2000);
    open();
    std::array<std::byte, 512> to{};
    const auto began = std::chrono::steady_clock::now();
    EXPECT_FALSE(backing_->read_now(0, to));
    EXPECT_LT(std::chrono::steady_clock::now() - began, long_time / 2);
    backing_->looked();
    EXPECT_FALSE(backing_->reads_now());
}

TEST_F(UpstreamBackingTest, LooksTakeASmallPartOfTheTime) {
    const RemoteExport remote = open_for_looks();
    start_server(remote);
    ready_.look_time = milliseconds(20);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(look());
    const auto took = std::chrono::steady_clock::now() - began;
    backing_->looked();
    EXPECT_FALSE(backing_->reads_now());
    if (took > milliseconds(500)) return;  // on a busy machine, and the rest is long
    EXPECT_GT(backing_->rests_ns(), 0);
    EXPECT_LE(backing_->rests_ns(), std::chrono::nanoseconds(20 * took).count());
    turn_until([&] { return backing_->reads_now(); });
    EXPECT_GE(std::chrono::steady_clock::now() - began, 20 * milliseconds(20));
    EXPECT_EQ(backing_->rests_ns(), 0);
}

TEST_F(UpstreamBackingTest, WithoutAConnectionLooksRestUntilThereIsOne) {
    const RemoteExport remote = open_for_looks();
    EXPECT_TRUE(backing_->reads_now());
    end_server();
    turn_until([&] { return !backing_->reads_now(); });
    EXPECT_GT(backing_->rests_ns(), 0);
    start_server(remote);
    EXPECT_EQ(answered(Buf::Op::read), 0);
    EXPECT_EQ(backing_->rests_ns(), 0);
    EXPECT_TRUE(backing_->reads_now());
}

TEST_F(UpstreamBackingTest, AfterASlowLookTheDeviceLooksNoMoreForATime) {
    looks_.slow = milliseconds(2000);
    const RemoteExport remote = open_for_looks();
    start_server(remote);
    ready_.look_time = looks_.slow + milliseconds(100);
    ASSERT_TRUE(look(2));
    backing_->looked();
    std::byte none{};
    EXPECT_EQ(recv(this->server().get(), &none, 1, 0),
              0);  // the look's connection has ended with it
    before_last_ = 1;
    const Asked& next = ask(Buf::Op::read);
    EXPECT_FALSE(backing_->reads_now());
    reply(receive_request());
    EXPECT_EQ(end(next), 0);
}

TEST_F(UpstreamBackingTest, ARequestGoesToTheServerWithItsFlags) {
    open();
    const Asked& zeroes = ask(Buf::Op::write_zeroes, 4096, 512, true);
    const Request request = receive_request();
    EXPECT_EQ(request.type, Command::write_zeroes);
    EXPECT_EQ(request.flags, command_flag::fua);
    EXPECT_EQ(request.offset, 4096u);
    reply(request, Error::enospc);
    EXPECT_EQ(end(zeroes), ENOSPC);
}

// Only a fast zeroing may be declined.
TEST_F(UpstreamBackingTest, AServerThatDeclinesOtherRequestsHasFailed) {
    open();
    const Asked& zeroes = ask(Buf::Op::write_zeroes, 4096);
    reply(receive_request(), Error::enotsup);
    EXPECT_EQ(end(zeroes), EIO);
}

TEST_F(UpstreamBackingTest, AHintThatTheServerDoesNotTakeSucceedsAndAFastZeroingIsRefused) {
    RemoteExport remote = remote_export();
    remote.transmission_flags &= static_cast<uint16_t>(~flag::send_cache);
    open(connection(remote), {.timeout = long_time, .settle = milliseconds(0)});
    EXPECT_EQ(end(ask(Buf::Op::cache, 4096)), 0);
    Asked zeroes;
    zeroes.op = Buf::Op::write_zeroes;
    zeroes.bcount = zeroes.resid = 512;
    zeroes.fast_zero = true;
    EXPECT_EQ(end(ask(zeroes)), EINVAL);
}

TEST_F(UpstreamBackingTest, ARequestKeepsTheCookieThatWasAnswered) {
    open();
    const Asked& flush = ask(Buf::Op::flush);
    const Request one = receive_request();
    reply(one);
    EXPECT_EQ(end(flush), 0);
    EXPECT_EQ(flush.upstream_cookie, one.cookie);
    EXPECT_NE(one.cookie, 0u);
    const Asked& read = ask(Buf::Op::read);
    receive_request();
    end_server();
    EXPECT_EQ(read.upstream_cookie, 0u);
    start_server();
    const Request again = receive_request();
    reply(again, Error::eio);
    EXPECT_EQ(end(read), EIO);
    EXPECT_EQ(read.upstream_cookie, again.cookie);
}

TEST_F(UpstreamBackingTest, AWriteWaitsForTheAnswerToOneThatOverlaps) {
    open();
    ask(Buf::Op::write, 0, 1024);
    ask(Buf::Op::write, 512, 1024);
    const Request first = receive_request();
    EXPECT_FALSE(has_request());
    reply(first);
    const Request second = receive_request();
    EXPECT_EQ(second.offset, 512u);
    reply(second);
    end(asked_.back());
}

TEST_F(UpstreamBackingTest, RequestsOfALostConnectionAreSentAgain) {
    open();
    const Asked& read = ask(Buf::Op::read);
    const Asked& write = ask(Buf::Op::write, 4096, 512, true);
    receive_request();
    receive_request();
    end_server();
    start_server();
    for (int i = 0; i < 2; ++i) {
        const Request again = receive_request();
        EXPECT_EQ(again.flags, again.type == Command::write ? command_flag::fua : 0);
        reply(again);
    }
    EXPECT_EQ(end(read), 0);
    EXPECT_EQ(end(write), 0);
    EXPECT_EQ(backing_->figures().reconnects(), 1u);
    EXPECT_EQ(backing_->figures().resent_requests(), 2u);
    EXPECT_EQ(backing_->losses(), 0u);
}

TEST_F(UpstreamBackingTest, ShuttingDownIsALoss) {
    open();
    const Asked& read = ask(Buf::Op::read);
    reply(receive_request(), Error::eshutdown);
    start_server();
    reply(receive_request());
    EXPECT_EQ(end(read), 0);
}

TEST_F(UpstreamBackingTest, AReadWaitsForAResentWriteThatItOverlaps) {
    open({.timeout = long_time, .settle = long_time});
    const Asked& write = ask(Buf::Op::write);
    const Asked& read = ask(Buf::Op::read);
    receive_request();
    receive_request();
    end_server();
    start_server();
    const Request again = receive_request();
    EXPECT_EQ(again.type, Command::write);
    EXPECT_FALSE(has_request());
    reply(again);
    EXPECT_EQ(end(write), 0);
    reply(receive_request());
    EXPECT_EQ(end(read), 0);
}

TEST_F(UpstreamBackingTest, WithoutResendsAWriteFailsAndItsRangeRests) {
    open({.timeout = long_time, .settle = milliseconds(50), .resend = false});
    const Asked& write = ask(Buf::Op::write);
    receive_request();
    const Asked& other = ask(Buf::Op::read, 8192);
    receive_request();
    end_server();
    start_server();
    EXPECT_EQ(end(write), EIO);
    const Asked& newer = ask(Buf::Op::write);
    reply(receive_request());
    EXPECT_EQ(end(other), 0);
    reply(receive_request());  // when the connection is settled
    EXPECT_EQ(end(newer), 0);
}

TEST_F(UpstreamBackingTest, ARequestThatMustWaitForTooLongFails) {
    const Asked& newer = ask_behind_a_failed_write();
    EXPECT_EQ(answered(Buf::Op::read, 8192), 0);
    EXPECT_TRUE(backing_->figures().state() == UpstreamKstat::State::connected);
    EXPECT_EQ(end(newer), EIO);
    EXPECT_FALSE(has_request());
}

TEST_F(UpstreamBackingTest, NewerRequestsDoNotPutThatOff) {
    const Asked& newer = ask_behind_a_failed_write();
    const auto deadline = std::chrono::steady_clock::now() + long_time;
    while (!newer.done && std::chrono::steady_clock::now() < deadline) {
        EXPECT_EQ(answered(Buf::Op::read, 8192), 0);
    }
    EXPECT_TRUE(newer.done);
    EXPECT_EQ(newer.error, EIO);
}

// Each caller that was there at the loss is told once, in any order.
TEST_F(UpstreamBackingTest, ALossIsToldToEachCallerByItsOwnNextFlush) {
    open();
    uint64_t writer = backing_->losses();
    uint64_t reader = backing_->losses();
    write_and_reply(&writer);
    end_server();
    start_server();
    EXPECT_EQ(answered(Buf::Op::read), 0);
    uint64_t newer = backing_->losses();
    for (uint64_t* caller : {&newer, &writer, &reader}) {
        EXPECT_EQ(answered(Buf::Op::flush, 0, 0, false, caller), caller == &newer ? 0 : EIO);
        EXPECT_EQ(answered(Buf::Op::flush, 0, 0, false, caller), 0);
    }
}

TEST_F(UpstreamBackingTest, AFuaWriteThatComesLaterIsToldTheLoss) {
    open();
    uint64_t caller = backing_->losses();
    write_and_reply(&caller);
    end_server();
    start_server();
    EXPECT_EQ(answered(Buf::Op::read), 0);
    EXPECT_EQ(end(ask(Buf::Op::write, 0, 512, true, &caller)), EIO);
    EXPECT_FALSE(has_request());
    EXPECT_EQ(answered(Buf::Op::write, 0, 512, true, &caller), 0);
}

TEST_F(UpstreamBackingTest, AResentFuaWriteDoesNotFailForOthers) {
    open();
    uint64_t caller = backing_->losses();
    write_and_reply(&caller);
    const Asked& fua = ask(Buf::Op::write, 4096, 512, true, &caller);
    receive_request();
    end_server();
    start_server();
    reply(receive_request());
    EXPECT_EQ(end(fua), 0);
    EXPECT_EQ(answered(Buf::Op::flush, 0, 0, false, &caller), EIO);
}

// Its acknowledgement is all that it promises.
TEST_F(UpstreamBackingTest, AServerWithoutFlushesLosesNothingThatItHasAcknowledged) {
    RemoteExport remote = remote_export();
    remote.transmission_flags &= static_cast<uint16_t>(~flag::send_flush);
    open(connection(remote), {.timeout = long_time, .settle = milliseconds(0)});
    uint64_t caller = backing_->losses();
    write_and_reply(&caller);
    end_server();
    start_server(remote);
    EXPECT_EQ(answered(Buf::Op::read), 0);
    EXPECT_EQ(backing_->losses(), 0u);
    EXPECT_EQ(end(ask(Buf::Op::flush, 0, 0, false, &caller)), 0);
    EXPECT_FALSE(has_request());
}

TEST_F(UpstreamBackingTest, AFlushUnderWayFailsIfWritesMayBeLost) {
    open();
    uint64_t caller = backing_->losses();
    write_and_reply(&caller);
    const Asked& flush = ask(Buf::Op::flush, 0, 0, false, &caller);
    receive_request();
    end_server();
    start_server();
    EXPECT_EQ(end(flush), EIO);
    EXPECT_EQ(answered(Buf::Op::flush, 0, 0, false, &caller), 0);
}

TEST_F(UpstreamBackingTest, AFlushUnderWayIsSentAgainIfNothingIsLost) {
    open();
    write_and_reply();
    EXPECT_EQ(answered(Buf::Op::flush), 0);
    const Asked& flush = ask(Buf::Op::flush);
    receive_request();
    end_server();
    start_server();
    EXPECT_EQ(receive_request().type, Command::flush);
    reply({.type = Command::flush, .cookie = (uint64_t{1} << 32)});
    EXPECT_EQ(end(flush), 0);
}

TEST_F(UpstreamBackingTest, AFlushThatTheServerRefusesStaysFailed) {
    open();
    for (const Error error : {Error::eio, Error::none}) {
        const Asked& flush = ask(Buf::Op::flush);
        reply(receive_request(), error);
        EXPECT_EQ(end(flush), EIO);
    }
}

TEST_F(UpstreamBackingTest, AnAbsentServerCostsARequestItsTimeAndNoMore) {
    open({.timeout = milliseconds(1000), .settle = milliseconds(0)});
    end_server();
    const Asked& flush = ask(Buf::Op::flush);
    EXPECT_EQ(end(flush), EIO);
    EXPECT_GE(ready_.attempts, 1);
    start_server();
    EXPECT_EQ(answered(Buf::Op::flush), 0);
}

constexpr UpstreamOptions one_second{.timeout = milliseconds(1000), .settle = milliseconds(0)};

TEST_F(UpstreamBackingTest, AnAbsentServerCostsALongQueueItsTimeAndNoMore) {
    open(one_second);
    end_server();
    expect_eio(ask_many(), milliseconds(1000));
    EXPECT_GE(ready_.attempts, 1);
}

// No request begins its time anew when the queue is longer than the depth.
TEST_F(UpstreamBackingTest, ASilentServerCostsALongQueueItsTimeAndNoMore) {
    open(one_second);
    expect_eio(ask_many(), milliseconds(1000));
}

// The server takes each connection and answers nothing.
TEST_F(UpstreamBackingTest, AServerThatIsSilentOnEachConnectionCostsALongQueueItsTimeAndNoMore) {
    constexpr milliseconds timeout{2000};
    open({.timeout = timeout, .settle = milliseconds(0)});
    for (int i = 0; i < 5; ++i) start_server();
    const auto began = std::chrono::steady_clock::now();
    for (const Asked* asked : ask_many()) EXPECT_EQ(end(*asked), EIO);
    EXPECT_LT(std::chrono::steady_clock::now() - began, timeout * 2);
}

// The memory comes from requests that have failed, and each would otherwise wait for as long.
TEST_F(UpstreamBackingTest, InAnOutageTheTimeCountsForWhichARequestWaitsForMemory) {
    open({.timeout = milliseconds(2000), .settle = milliseconds(0)});
    const Asked& first = ask(Buf::Op::read);
    EXPECT_EQ(end(first), EIO);
    const auto began = std::chrono::steady_clock::now();
    const hrtime_t held_back = ring_.now() - first.queued;
    const Asked& second = ask(Buf::Op::read, 512, 512, false, nullptr, held_back);
    EXPECT_EQ(end(second), EIO);
    EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(1500));
}

TEST_F(UpstreamBackingTest, AServerThatOnlyTakesConnectionsCostsALongQueueItsTimeAndNoMore) {
    open(one_second);
    end_server();
    for (int i = 0; i < 40; ++i) {
        start_server();
        end_server();
    }
    expect_eio(ask_many(), milliseconds(1000));
    EXPECT_LT(ready_.attempts, 20);
}

// The server ends their export, and waits for the end of each request.
TEST_F(UpstreamBackingTest, ALongQueueWithoutClientsFailsAtOnce) {
    open();
    end_server();
    constexpr int count = 800;  // a hundred times the depth
    std::vector<Asked*> many;
    for (int i = 0; i < count; ++i) many.push_back(&ask(Buf::Op::read));
    const auto began = std::chrono::steady_clock::now();
    for (Asked* const asked : many) asked->has_client = false;
    for (const Asked* asked : many) EXPECT_EQ(end(*asked), EIO);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(4));
}

// One flush runs for all that came while another one ran.
TEST_F(UpstreamBackingTest, AFlushWithoutAClientFailsForNoOtherClient) {
    open();
    end_server();
    Asked& running = ask(Buf::Op::flush, 0, 0);
    Asked& leader = ask(Buf::Op::flush, 0, 0);
    const Asked& other = ask(Buf::Op::flush, 0, 0);
    running.has_client = leader.has_client = false;
    EXPECT_EQ(end(running), EIO);
    EXPECT_EQ(end(leader), EIO);
    EXPECT_FALSE(other.done);
    start_server();
    reply(receive_request());
    EXPECT_EQ(end(other), 0);
}

// The pauses between attempts become longer. So the last one may be long before the requests fail.
TEST_F(UpstreamBackingTest, AnAttemptShortlyBeforeRequestsFailSavesThem) {
    open({.timeout = milliseconds(5000), .settle = milliseconds(0)});
    end_server();
    const std::vector<Asked*> many = ask_many();
    turn_until([&] { return ready_.attempts == 5; });  // after 3.1 s; the next pause is 3.2 s
    turn();
    start_server();
    for (size_t i = 0; i < many.size(); ++i) reply(receive_request());
    for (const Asked* asked : many) EXPECT_EQ(end(*asked), 0);
}

// A limit gives one request after the other to the server. All have waited for longer than the timeout.
TEST_F(UpstreamBackingTest, RequestsThatHaveWaitedForTooLongAreTriedWhenTheServerIsBack) {
    behaviour_.limits = model::LimitSpec::parse("iops=20:20:1:1");
    open({.timeout = milliseconds(400), .settle = milliseconds(0)});
    end_server();
    const std::vector<Asked*> many = ask_many();
    turn_until([&] { return many[19]->done; });  // after 1 s
    start_server();
    while (!many.back()->done) {
        if (has_request()) reply(receive_request());
    }
    EXPECT_LE(std::ranges::count(many, EIO, &Asked::error), 25);
}

TEST_F(UpstreamBackingTest, ASilentServerIsALostOne) {
    open({.timeout = milliseconds(1000), .settle = milliseconds(0)});
    const Asked& read = ask(Buf::Op::read);
    EXPECT_EQ(end(read), EIO);
    start_server();
    EXPECT_EQ(answered(Buf::Op::read), 0);
}

// The pauses are 100, 200, 400 and 800 ms.
TEST_F(UpstreamBackingTest, AServerThatClosesAfterEachAnswerIsDialledEverLessOften) {
    open();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i) {
        end_server();
        start_server();
        EXPECT_EQ(answered(Buf::Op::read), 0);
    }
    EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(1400));
}

// A firewall, or a server that saves connections. The pauses of the test above would be 1.6 s at the end.
TEST_F(UpstreamBackingTest, AConnectionThatWasUsedAndThenIdleIsMadeAgainAtOnce) {
    open();
    std::chrono::steady_clock::duration last{};
    for (int i = 0; i < 5; ++i) {
        std::this_thread::sleep_for(milliseconds(600));
        end_server();
        start_server();
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_EQ(answered(Buf::Op::read), 0);
        last = std::chrono::steady_clock::now() - begin;
    }
    EXPECT_LT(last, milliseconds(1000));
}

TEST_F(UpstreamBackingTest, AServerThatCameBackDifferentIsUselessUntilAReload) {
    open();
    const Asked& read = ask(Buf::Op::read);
    receive_request();
    end_server();
    start_server(remote_export(remote_bytes * 2));
    EXPECT_EQ(end(read), EIO);
    EXPECT_TRUE(backing_->must_be_reopened());
    EXPECT_EQ(end(ask(Buf::Op::write)), EIO);
    EXPECT_EQ(end(ask(Buf::Op::flush)), EIO);
    EXPECT_EQ(ready_.attempts, 1);
}

TEST_F(UpstreamBackingTest, ADeviceWithoutWritesEndsWellAlsoWhenItsServerHasChanged) {
    open();
    const Asked& read = ask(Buf::Op::read);
    receive_request();
    end_server();
    start_server(remote_export(remote_bytes * 2));
    EXPECT_EQ(end(read), EIO);
    EXPECT_EQ(end(ask(Buf::Op::flush)), EIO);
    EXPECT_EQ(end(ask_last_flush()), 0);
}

TEST_F(UpstreamBackingTest, ADeviceWhoseWritesAreLostEndsBadly) {
    open();
    write_and_reply();
    const Asked& read = ask(Buf::Op::read);
    receive_request();
    end_server();
    start_server(remote_export(remote_bytes * 2));
    EXPECT_EQ(end(read), EIO);
    EXPECT_EQ(end(ask_last_flush()), EIO);
}

TEST_F(UpstreamBackingTest, NonsenseIsALoss) {
    open();
    const Asked& read = ask(Buf::Op::read);
    receive_request();
    const std::string nonsense(64, 'x');
    ::send(server().get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
    start_server();
    reply(receive_request());
    EXPECT_EQ(end(read), 0);
}

TEST_F(UpstreamBackingTest, AnIdleBackingMayBeDestroyed) {
    open();
    write_and_reply();
    device_.reset();
    EXPECT_EQ(receive_request().type, Command::disc);
}

// ---- Several connections ----

TEST_F(UpstreamBackingTest, ARequestGoesToTheConnectionWithTheFewestRequests) {
    open_two();
    EXPECT_EQ(backing_->figures().connections(), 2u);
    std::array<const Asked*, 3> asked{&ask(Buf::Op::read), &ask(Buf::Op::read, 512), nullptr};
    const Request first = receive_on(0);
    const Request second = receive_on(1);
    EXPECT_EQ(first.offset, 0u);
    EXPECT_EQ(second.offset, 512u);
    reply_on(1, second);
    EXPECT_EQ(end(*asked[1]), 0);
    asked[2] = &ask(Buf::Op::read, 1024);
    const Request third = receive_on(1);
    EXPECT_EQ(third.offset, 1024u);
    reply_on(1, third);
    reply_on(0, first);
    EXPECT_EQ(end(*asked[0]) + end(*asked[2]), 0);
}

TEST_F(UpstreamBackingTest, NoConnectionIsIdleWhileOthersAreUsed) {
    open_two();
    for (const size_t which : {0u, 1u, 0u, 1u}) {
        const Asked& read = ask(Buf::Op::read);
        reply_on(which, receive_on(which));
        EXPECT_EQ(end(read), 0);
    }
}

TEST_F(UpstreamBackingTest, AWriteWaitsForOneThatOverlapsOnAnotherConnection) {
    open_two();
    const Asked& first = ask(Buf::Op::write, 0, 1024);
    const Asked& second = ask(Buf::Op::write, 512, 1024);
    const Request one = receive_on(0);
    before_last_ = 0;
    EXPECT_FALSE(has_request());
    reply_on(0, one);
    EXPECT_EQ(end(first), 0);
    const Request other = receive_on(1);
    EXPECT_EQ(other.offset, 512u);
    reply_on(1, other);
    EXPECT_EQ(end(second), 0);
}

TEST_F(UpstreamBackingTest, AFlushOnOneConnectionCoversTheWritesOfAll) {
    open_two();
    uint64_t caller = backing_->losses();
    const Asked& first = ask(Buf::Op::write, 0, 512, false, &caller);
    const Asked& second = ask(Buf::Op::write, 512, 512, false, &caller);
    for (const size_t which : {0u, 1u}) reply_on(which, receive_on(which));
    EXPECT_EQ(end(first) + end(second), 0);
    const Asked& flush = ask(Buf::Op::flush, 0, 0, false, &caller);
    const Request one = receive_on(0);
    EXPECT_EQ(one.type, Command::flush);
    reply_on(0, one);
    EXPECT_EQ(end(flush), 0);
    EXPECT_TRUE(lose_both());
    EXPECT_EQ(backing_->losses(), 0u);
}

TEST_F(UpstreamBackingTest, AWriteOfAnyConnectionMayBeLostWithAnother) {
    open_two();
    uint64_t caller = backing_->losses();
    const Asked& read = ask(Buf::Op::read, 8192);
    const Asked& write = ask(Buf::Op::write, 0, 512, false, &caller);
    for (const size_t which : {0u, 1u}) reply_on(which, receive_on(which));
    EXPECT_EQ(end(read) + end(write), 0);
    EXPECT_TRUE(lose_both());
    EXPECT_EQ(backing_->losses(), 1u);
    const Asked& flush = ask(Buf::Op::flush, 0, 0, false, &caller);
    reply_on(1, receive_on(1));
    EXPECT_EQ(end(flush), EIO);
}

TEST_F(UpstreamBackingTest, TheEndOfOneConnectionIsTheEndOfAll) {
    open_two();
    const Asked& first = ask(Buf::Op::write, 0);
    const Asked& second = ask(Buf::Op::write, 512);
    receive_on(0);
    receive_on(1);
    end_server();
    EXPECT_TRUE(is_closed(0));
    for (int i = 0; i < 2; ++i) start_server();
    for (const size_t which : {0u, 1u}) reply_on(which, receive_on(which));
    EXPECT_EQ(end(first) + end(second), 0);
    EXPECT_EQ(backing_->figures().reconnects(), 1u);
    EXPECT_EQ(backing_->figures().resent_requests(), 2u);
    EXPECT_EQ(backing_->figures().connections(), 2u);
}

TEST_F(UpstreamBackingTest, FewerConnectionsAreTakenAfterALoss) {
    open_two();
    const Asked& read = ask(Buf::Op::read);
    receive_on(0);
    end_server();
    ready_.per_attempt = 1;
    start_server();
    before_last_ = 0;
    reply(receive_request());
    EXPECT_EQ(end(read), 0);
    EXPECT_EQ(backing_->figures().connections(), 1u);
}

TEST_F(UpstreamBackingTest, ShuttingDownOnOneConnectionIsALossOfAll) {
    open_two();
    const Asked& read = ask(Buf::Op::read);
    const Asked& other = ask(Buf::Op::read, 512);
    receive_on(1);
    reply_on(0, receive_on(0), Error::eshutdown);
    EXPECT_TRUE(is_closed(1));
    for (int i = 0; i < 2; ++i) start_server();
    for (const size_t which : {0u, 1u}) reply_on(which, receive_on(which));
    EXPECT_EQ(end(read) + end(other), 0);
}

TEST_F(UpstreamBackingTest, EachNewConnectionMustAllowWhatClientsWereTold) {
    open_two();
    const Asked& read = ask(Buf::Op::read);
    receive_on(0);
    end_server();
    start_server();
    start_server(remote_export(remote_bytes * 2));
    EXPECT_EQ(end(read), EIO);
    EXPECT_TRUE(backing_->must_be_reopened());
    EXPECT_EQ(backing_->figures().connections(), 0u);
}

TEST_F(UpstreamBackingTest, SeveralIdleConnectionsMayBeDestroyed) {
    open_two();
    ask(Buf::Op::read);
    reply_on(0, receive_on(0));
    EXPECT_EQ(end(asked_.front()), 0);
    device_.reset();
    EXPECT_EQ(receive_on(0).type, Command::disc);
    EXPECT_EQ(receive_on(1).type, Command::disc);
}

TEST_F(UpstreamBackingTest, TheLastFlushOfAServerWaitsForNoLostServer) {
    open();
    write_and_reply();
    end_server();
    Asked& read = ask(Buf::Op::read);
    turn_until([&] { return ready_.attempts > 0; });
    Asked last;
    last.op = Buf::Op::flush;
    last.exempt = true;
    last.iodone = read.iodone;
    device_->strategy(last);
    EXPECT_EQ(end(last), EIO);
    start_server();
    reply(receive_request());
    EXPECT_EQ(end(read), 0);
}

}  // namespace
}  // namespace blkscope::nbd
