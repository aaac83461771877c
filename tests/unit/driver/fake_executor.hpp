// FakeExecutor: an Executor whose time and bytes the test moves, in one thread and without
// descriptors.
#pragma once

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/nbd/server/executor.hpp"

namespace blkscope::nbd {

/// The client's end of a simulated socket, which outlives the server's.
struct FakeWire {
    std::deque<std::byte> to_server;
    std::vector<std::byte> to_client;
    bool client_gone = false;
    bool server_closed = false;
    bool released = false;
    int release_error = 0;            // an errno; 0: the release succeeds
    bool client_reads = true;         // else the server's writes wait
    size_t segment_bytes = SIZE_MAX;  // limit of each of the server's reads
    std::vector<int> reads;           // the bytes that each of the server's reads returned

    std::span<std::byte> room;
    StreamSocket::Received received;
    std::span<const std::byte> out;
    StreamSocket::Sent sent;

    void send(std::span<const std::byte> bytes) {
        to_server.insert(to_server.end(), bytes.begin(), bytes.end());
    }
};

class FakeSocket final : public StreamSocket {
  public:
    FakeSocket(std::shared_ptr<FakeWire> wire, Peer peer, int descriptor)
        : wire_(std::move(wire)), peer_(std::move(peer)), descriptor_(descriptor) {}
    ~FakeSocket() override { FakeSocket::close(); }
    FakeSocket(const FakeSocket&) = delete;
    FakeSocket& operator=(const FakeSocket&) = delete;

    void async_read_some(std::span<std::byte> to, Received received) override {
        assert(!wire_->received && !to.empty() && !wire_->server_closed);
        wire_->room = to;
        wire_->received = std::move(received);
    }
    void async_write(std::span<const std::byte> bytes, Sent sent) override {
        assert(!wire_->sent && !bytes.empty() && !wire_->server_closed);
        wire_->out = bytes;
        wire_->sent = std::move(sent);
    }
    void set_transmission_options() override {}
    Result<int> release() override {
        wire_->released = true;
        close();
        if (wire_->release_error != 0) return os_error(wire_->release_error);
        return descriptor_;
    }
    void close() override {
        wire_->server_closed = true;
        // Destroyed last: a call may own the owner of this socket.
        const std::shared_ptr<FakeWire> wire = wire_;
        const Received received = std::exchange(wire->received, nullptr);
        const Sent sent = std::exchange(wire->sent, nullptr);
    }
    const Peer& peer() const override { return peer_; }

  private:
    std::shared_ptr<FakeWire> wire_;
    Peer peer_;
    int descriptor_;
};

class FakeExecutor final : public Executor {
  public:
    void post(std::function<void()> call) override { posted_.push_back(std::move(call)); }
    Time now() const override { return now_; }
    std::unique_ptr<Timer> make_timer() override { return std::make_unique<FakeTimer>(*this); }
    std::unique_ptr<StreamSocket> take_socket(int) override { return nullptr; }
    std::unique_ptr<Acceptor> listen_unix(const std::string&) override { return nullptr; }
    std::unique_ptr<Acceptor> listen_tcp(const std::string&, uint16_t) override { return nullptr; }
    std::unique_ptr<Acceptor> listen_on(int) override { return nullptr; }

    std::unique_ptr<StreamSocket> connect(std::shared_ptr<FakeWire> wire, Peer peer = {}) {
        wires_.push_back(wire);
        return std::make_unique<FakeSocket>(std::move(wire), std::move(peer), 7);
    }

    /// Makes one pending call, if there is one.
    bool step() {
        if (!posted_.empty()) {
            const auto call = std::move(posted_.front());
            posted_.pop_front();
            call();
            return true;
        }
        // A call may connect another client.
        for (size_t i = 0; i < wires_.size(); ++i) {
            if (deliver(*std::shared_ptr(wires_[i]))) return true;
        }
        return false;
    }
    void run() {
        while (step()) {
        }
    }
    /// The thread is busy for this time. Then the timers' calls come first.
    void stall(std::chrono::nanoseconds time) {
        now_ += time;
        while (FakeTimer* const next = next_alarm(now_)) {
            const auto call = std::exchange(next->call, nullptr);
            call();
        }
    }
    /// Makes the pending calls, and each timer's call at its time.
    void pass(std::chrono::nanoseconds time) {
        const Time end = now_ + time;
        run();
        while (FakeTimer* const next = next_alarm(end)) {
            now_ = std::max(now_, next->at);
            const auto call = std::exchange(next->call, nullptr);
            call();
            run();
        }
        now_ = end;
    }
    size_t alarms() const {
        return static_cast<size_t>(std::count_if(timers_.begin(), timers_.end(),
                                                 [](const FakeTimer* t) { return !!t->call; }));
    }

  private:
    struct FakeTimer final : Timer {
        explicit FakeTimer(FakeExecutor& its_executor) : executor(its_executor) {
            executor.timers_.push_back(this);
        }
        ~FakeTimer() override { std::erase(executor.timers_, this); }
        FakeTimer(const FakeTimer&) = delete;
        FakeTimer& operator=(const FakeTimer&) = delete;
        void start(std::chrono::nanoseconds after, std::function<void()> its_call) override {
            at = executor.now_ + after;
            call = std::move(its_call);
        }
        void cancel() override { const auto dropped = std::exchange(call, nullptr); }

        FakeExecutor& executor;
        Time at{};
        std::function<void()> call;
    };

    FakeTimer* next_alarm(Time end) {
        FakeTimer* first = nullptr;
        for (FakeTimer* timer : timers_) {
            const bool due = timer->call && timer->at <= end;
            if (due && (first == nullptr || timer->at < first->at)) first = timer;
        }
        return first;
    }

    static bool deliver(FakeWire& wire) {
        if (wire.sent && (wire.client_reads || wire.client_gone)) {
            const auto sent = std::exchange(wire.sent, nullptr);
            if (!wire.client_gone) {
                wire.to_client.insert(wire.to_client.end(), wire.out.begin(), wire.out.end());
            }
            sent(wire.client_gone ? EPIPE : 0);
            return true;
        }
        if (!wire.received || (wire.to_server.empty() && !wire.client_gone)) return false;
        const auto received = std::exchange(wire.received, nullptr);
        const size_t bytes =
            std::min({wire.room.size(), wire.to_server.size(), wire.segment_bytes});
        std::copy_n(wire.to_server.begin(), bytes, wire.room.begin());
        wire.to_server.erase(wire.to_server.begin(),
                             wire.to_server.begin() + static_cast<ptrdiff_t>(bytes));
        wire.reads.push_back(static_cast<int>(bytes));
        received(static_cast<int32_t>(bytes));
        return true;
    }

    Time now_{};
    std::deque<std::function<void()>> posted_;
    std::vector<FakeTimer*> timers_;
    std::vector<std::shared_ptr<FakeWire>> wires_;
};

}  // namespace blkscope::nbd
