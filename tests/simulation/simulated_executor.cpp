#include "simulated_executor.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <utility>

namespace blkscope::simulation {
namespace {

constexpr uint64_t executor_stream = 0x65786563;
constexpr uint64_t call_ns_max = 3'000;
constexpr uint64_t one_part_in = 4;  // short reads and writes

}  // namespace

// ---- Timer ----

class SimulatedExecutor::SimulatedTimer final : public nbd::Timer {
  public:
    explicit SimulatedTimer(SimulatedExecutor& executor)
        : executor_(executor), alarm_(std::make_shared<Alarm>()) {}
    ~SimulatedTimer() override { SimulatedTimer::cancel(); }
    SimulatedTimer(const SimulatedTimer&) = delete;
    SimulatedTimer& operator=(const SimulatedTimer&) = delete;

    void start(std::chrono::nanoseconds after, std::function<void()> call) override {
        assert(call != nullptr && after.count() >= 0);
        cancel();
        alarm_->call = std::move(call);
        ++executor_.counts_->alarms;
        executor_.later(after.count(),
                        [alarm = alarm_, number = alarm_->number, counts = executor_.counts_] {
                            if (!alarm->call || alarm->number != number) return;
                            const auto due = std::exchange(alarm->call, nullptr);
                            --counts->alarms;
                            due();
                        });
    }
    void cancel() override {
        ++alarm_->number;
        const auto dropped = std::exchange(alarm_->call, nullptr);
        if (dropped) --executor_.counts_->alarms;
    }

  private:
    struct Alarm {
        std::function<void()> call;
        uint64_t number = 0;  // of the last start or cancellation
    };
    SimulatedExecutor& executor_;
    std::shared_ptr<Alarm> alarm_;
};

// ---- StreamSocket ----

struct SimulatedExecutor::StreamState : std::enable_shared_from_this<StreamState> {
    SimulatedExecutor& executor;
    std::shared_ptr<SimulatedSocket> socket;
    std::span<std::byte> to;
    nbd::StreamSocket::Received received;
    std::span<const std::byte> from;
    nbd::StreamSocket::Sent sent;
    bool closed = false;
    bool look_is_due = false;

    StreamState(SimulatedExecutor& its_executor, std::shared_ptr<SimulatedSocket> its_socket)
        : executor(its_executor), socket(std::move(its_socket)) {}

    void look_soon() {
        if (closed || look_is_due || (!received && !sent)) return;
        look_is_due = true;
        executor.soon([self = shared_from_this()] {
            self->look_is_due = false;
            if (!self->closed) self->look();
        });
    }

    // Makes at most one call. The other operation is next in the next look.
    void look() {
        if (sent && !from.empty()) {
            const bool part = executor.random_.one_in(one_part_in);
            const size_t bytes = part ? executor.random_.between(1, from.size()) : from.size();
            const int64_t result = socket->send(from.first(bytes));
            if (result > 0) from = from.subspan(static_cast<size_t>(result));
            if (from.empty() || (result < 0 && result != -EAGAIN)) {
                const auto call = std::exchange(sent, nullptr);
                look_soon();
                return call(result < 0 ? static_cast<int>(-result) : 0);
            }
            if (result > 0) look_soon();
        }
        if (!received || !socket->readable()) return;
        const bool part = executor.random_.one_in(one_part_in);
        const size_t bytes = part ? executor.random_.between(1, to.size()) : to.size();
        const int64_t result = socket->receive(to.first(bytes));
        if (result == -EAGAIN) return;
        executor.timeline_.note(static_cast<uint64_t>(result));
        const auto call = std::exchange(received, nullptr);
        look_soon();
        call(static_cast<int32_t>(result));
    }

    // Dropped calls are destroyed last: one may own the owner of the socket.
    void end(bool closes) {
        if (closed) return;
        const auto self = shared_from_this();
        closed = true;
        assert(executor.counts_->sockets > 0);
        --executor.counts_->sockets;
        socket->changed = nullptr;
        if (closes) socket->close();
        const auto dropped_received = std::exchange(received, nullptr);
        const auto dropped_sent = std::exchange(sent, nullptr);
    }
};

class SimulatedExecutor::Stream final : public nbd::StreamSocket {
  public:
    Stream(SimulatedExecutor& executor, std::shared_ptr<SimulatedSocket> socket, nbd::Peer peer)
        : state_(std::make_shared<StreamState>(executor, std::move(socket))),
          peer_(std::move(peer)) {
        ++executor.counts_->sockets;
        state_->socket->changed = [weak = std::weak_ptr(state_)] {
            if (const auto state = weak.lock()) state->look_soon();
        };
    }
    ~Stream() override { Stream::close(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void async_read_some(std::span<std::byte> to, Received received) override {
        assert(!state_->closed && !state_->received && !to.empty());
        state_->to = to;
        state_->received = std::move(received);
        state_->look_soon();
    }
    void async_write(std::span<const std::byte> bytes, Sent sent) override {
        assert(!state_->closed && !state_->sent && !bytes.empty());
        state_->from = bytes;
        state_->sent = std::move(sent);
        state_->look_soon();
    }
    void set_transmission_options() override { assert(!state_->closed); }
    Result<int> release() override {
        assert(!state_->closed && !state_->received && !state_->sent);
        state_->end(false);
        return state_->executor.kernel_.open_socket(state_->socket);
    }
    void close() override { state_->end(true); }
    const nbd::Peer& peer() const override { return peer_; }

  private:
    std::shared_ptr<StreamState> state_;
    nbd::Peer peer_;
};

// ---- Acceptor ----

struct SimulatedExecutor::ListeningState : std::enable_shared_from_this<ListeningState> {
    struct Caller {
        std::shared_ptr<SimulatedSocket> socket;
        nbd::Peer peer;
    };

    SimulatedExecutor& executor;
    nbd::Uri address;
    std::deque<Caller> queue;
    nbd::Acceptor::Accepted accepted;
    unsigned refusals = 0;  // failures in a row
    bool closed = false;
    bool look_is_due = false;

    ListeningState(SimulatedExecutor& its_executor, nbd::Uri its_address)
        : executor(its_executor), address(std::move(its_address)) {}

    void look_soon() {
        if (closed || look_is_due || !accepted || queue.empty()) return;
        look_is_due = true;
        executor.soon([self = shared_from_this()] {
            self->look_is_due = false;
            if (!self->closed) self->look();
        });
    }

    void look() {
        assert(accepted && !queue.empty());
        const auto call = std::exchange(accepted, nullptr);
        if (refusals < refusals_max && executor.random_.one_in(executor.accept_error)) {
            ++refusals;
            executor.spare_is_taken_ = executor.random_.one_in(2);
            return call(os_error(executor.spare_is_taken_ ? ENFILE : ENOBUFS));
        }
        refusals = 0;
        if (executor.full()) return call(os_error(EMFILE));
        call(take());
    }

    std::unique_ptr<nbd::StreamSocket> take() {
        assert(!queue.empty());
        Caller caller = std::move(queue.front());
        queue.pop_front();
        return std::make_unique<Stream>(executor, std::move(caller.socket), caller.peer);
    }
};

class SimulatedExecutor::Listening final : public nbd::Acceptor {
  public:
    explicit Listening(std::shared_ptr<ListeningState> state) : state_(std::move(state)) {
        ++state_->executor.counts_->acceptors;
    }
    ~Listening() override { Listening::close(); }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

    void async_accept(Accepted accepted) override {
        assert(!state_->closed && !state_->accepted);
        state_->accepted = std::move(accepted);
        state_->look_soon();
    }
    std::unique_ptr<nbd::StreamSocket> accept_with_spare() override {
        assert(!state_->closed);
        SimulatedExecutor& executor = state_->executor;
        if (!std::exchange(executor.has_spare_, false)) return nullptr;
        const bool taken = std::exchange(executor.spare_is_taken_, false);
        if (taken || executor.random_.one_in(executor.spare_lost)) return nullptr;
        assert(!state_->queue.empty());
        ++executor.accepted_in_need;
        return state_->take();
    }
    void restore_spare() override {
        SimulatedExecutor& executor = state_->executor;
        if (executor.has_spare_) return;
        executor.has_spare_ = !executor.full();
        if (!executor.has_spare_) executor.spare_missing = true;
    }
    void close() override {
        if (state_->closed) return;
        state_->closed = true;
        assert(state_->executor.counts_->acceptors > 0);
        --state_->executor.counts_->acceptors;
        for (const auto& caller : state_->queue) caller.socket->close(true);
        state_->queue.clear();
        const auto dropped = std::exchange(state_->accepted, nullptr);
    }
    const nbd::Uri& address() const override { return state_->address; }

  private:
    std::shared_ptr<ListeningState> state_;
};

// ---- The executor ----

SimulatedExecutor::SimulatedExecutor(Timeline& timeline, SimulatedKernel& kernel, uint64_t seed)
    : timeline_(timeline), kernel_(kernel), random_(seed, executor_stream) {}

SimulatedExecutor::~SimulatedExecutor() = default;

// The spare has a descriptor beside the limit.
bool SimulatedExecutor::full() const {
    if (sockets_max == 0) return false;
    return counts_->sockets + kernel_.open_sockets() >= sockets_max + (has_spare_ ? 0 : 1);
}

void SimulatedExecutor::later(hrtime_t delay, std::function<void()> call) {
    timeline_.after(delay, [this, call = std::move(call)]() mutable {
        if (waits_) return late_.push_back(std::move(call));
        call();
    });
}

void SimulatedExecutor::go_on() {
    waits_ = false;
    for (auto& call : std::exchange(late_, {})) later(1, std::move(call));
}

void SimulatedExecutor::soon(std::function<void()> call) {
    later(static_cast<hrtime_t>(random_.between(1, call_ns_max)), std::move(call));
}

std::shared_ptr<SimulatedSocket> SimulatedExecutor::connect(const Wire& wire,
                                                            const nbd::Peer& peer) {
    auto [ours, theirs] = SimulatedSocket::pair(timeline_, random_, wire);
    for (const auto& weak : listening_) {
        const auto state = weak.lock();
        if (!state || state->closed || state->address.host.empty() != wire.is_unix) continue;
        state->queue.push_back({std::move(ours), peer});
        state->look_soon();
        return theirs;
    }
    ours->close(true);
    return theirs;
}

void SimulatedExecutor::post(std::function<void()> call) {
    soon(std::move(call));
}

nbd::Executor::Time SimulatedExecutor::now() const {
    return Time(std::chrono::nanoseconds(timeline_.now()));
}

std::unique_ptr<nbd::Timer> SimulatedExecutor::make_timer() {
    return std::make_unique<SimulatedTimer>(*this);
}

// A simulated server gets no descriptors from callers.
std::unique_ptr<nbd::StreamSocket> SimulatedExecutor::take_socket(int) {
    std::abort();
}

std::unique_ptr<nbd::Acceptor> SimulatedExecutor::listen_on(int) {
    std::abort();
}

std::unique_ptr<nbd::Acceptor> SimulatedExecutor::listen_unix(const std::string& path) {
    nbd::Uri address;
    address.socket_path = path;
    auto state = std::make_shared<ListeningState>(*this, std::move(address));
    listening_.push_back(state);
    return std::make_unique<Listening>(std::move(state));
}

std::unique_ptr<nbd::Acceptor> SimulatedExecutor::listen_tcp(const std::string& host,
                                                             uint16_t port) {
    nbd::Uri address;
    address.host = host;
    address.port = port;
    auto state = std::make_shared<ListeningState>(*this, std::move(address));
    listening_.push_back(state);
    return std::make_unique<Listening>(std::move(state));
}

}  // namespace blkscope::simulation
