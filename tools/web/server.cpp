#include "tools/web/server.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <list>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/throw_errno.hpp"
#include "base/vanished_peer.hpp"
#include "tools/web/channel.hpp"

namespace blkscope::web {
namespace {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;

constexpr std::chrono::milliseconds accept_pause{100};  // while there is no descriptor for a client
constexpr size_t accepts_per_turn = 64;
constexpr int receives_per_turn = 4;
constexpr size_t drained_bytes_max = size_t{1} << 20;

bool would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

class Server::Loop {
  public:
    Loop(Descriptor listener, Handler& handler, const ServerLimits& limits,
         std::shared_ptr<const nbd::TlsContext> tls);

    void run(int told, const std::function<bool()>& obey);
    void stop() const;
    void use(std::shared_ptr<const nbd::TlsContext> tls) { tls_ = std::move(tls); }

  private:
    enum class State { reading, writing, streaming, draining };

    struct Connection {
        Channel channel;
        State state = State::reading;
        Moment deadline = {};
        std::string received = {};
        std::string head = {};  // of the reply
        Body body = {};
        size_t sent = 0;  // of head and body together
        size_t drained = 0;
        bool closes = false;          // behind this reply
        bool becomes_stream = false;  // behind this head
        bool again = false;           // `received` may have a further request

        [[nodiscard]] size_t left() const {
            return head.size() + (body ? body->size() : 0) - sent + channel.unsent();
        }

        [[nodiscard]] bool is_stream() const { return state == State::streaming || becomes_stream; }

        /// Without a deadline only while a stream waits for its next event.
        [[nodiscard]] bool has_deadline() const { return state != State::streaming || left() > 0; }
    };

    [[nodiscard]] int timeout_ms() const;
    void turn(const epoll_event& event);
    void accept_some();
    bool make_room();
    void pause_accepting();
    void obey_deadlines();
    void receive(Connection& connection);
    void watch_reading(Connection& connection) const;
    void take_request(Connection& connection);
    void answer(Connection& connection, const ParsedRequest& parsed);
    void send(Connection& connection);
    void finish_reply(Connection& connection);
    void drain(Connection& connection);
    void send_events();
    void bound_bodies();
    void close(Connection& connection);
    [[nodiscard]] bool watched(int operation, int descriptor, uint32_t events, void* data) const;
    void watch(int operation, int descriptor, uint32_t events, void* data) const;
    void watch(Connection& connection, uint32_t events) const;
    [[nodiscard]] size_t streams() const;

    Descriptor listener_;
    Handler& handler_;
    ServerLimits limits_;
    std::shared_ptr<const nbd::TlsContext> tls_;  // null: without TLS
    Descriptor epoll_;
    Descriptor stop_;
    std::list<Connection> connections_;
    size_t open_ = 0;  // connections of the list that were not closed in this turn
    std::optional<Moment> accept_again_;  // accepting is paused until then
    std::optional<Moment> next_event_;    // none without streams
    bool asked_handler_ = false;          // in this turn
};

Server::Loop::Loop(Descriptor listener, Handler& handler, const ServerLimits& limits,
                   std::shared_ptr<const nbd::TlsContext> tls)
    : listener_(std::move(listener)),
      handler_(handler),
      limits_(limits),
      tls_(std::move(tls)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!epoll_.is_open() || !stop_.is_open()) throw_errno("web: cannot make an epoll");
    watch(EPOLL_CTL_ADD, listener_.get(), EPOLLIN, &listener_);
    watch(EPOLL_CTL_ADD, stop_.get(), EPOLLIN, &stop_);
}

bool Server::Loop::watched(int operation, int descriptor, uint32_t events, void* data) const {
    epoll_event event{};
    event.events = events;
    event.data.ptr = data;
    return epoll_ctl(epoll_.get(), operation, descriptor, &event) == 0;
}

void Server::Loop::watch(int operation, int descriptor, uint32_t events, void* data) const {
    if (!watched(operation, descriptor, events, data)) throw_errno("web: cannot watch a socket");
}

void Server::Loop::watch(Connection& connection, uint32_t events) const {
    watch(EPOLL_CTL_MOD, connection.channel.get(), events, &connection);
}

void Server::Loop::stop() const {
    const uint64_t one = 1;
    if (::write(stop_.get(), &one, sizeof one) < 0) assert(would_block(errno));  // ends already
}

// A connection that was closed stays in the list until the turn ends, because an event may name it.
void Server::Loop::run(int told, const std::function<bool()>& obey) {
    if (told >= 0) watch(EPOLL_CTL_ADD, told, EPOLLIN, &told);
    std::array<epoll_event, 64> events;
    for (;;) {
        const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms());
        if (count < 0 && errno != EINTR) throw_errno("web: cannot wait for clients");
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<size_t>(i)];
            if (event.data.ptr == &stop_) return;
            if (event.data.ptr != &told) {
                turn(event);
            } else if (!obey()) {
                return;
            }
        }
        for (Connection& connection : connections_) {
            if (!std::exchange(connection.again, false)) continue;
            take_request(connection);
            if (connection.state == State::reading && connection.channel.has_input()) {
                receive(connection);
            }
        }
        obey_deadlines();
        send_events();
        bound_bodies();
        std::erase_if(connections_, [](const Connection& one) { return !one.channel.is_open(); });
        assert(connections_.size() == open_);
        if (std::exchange(asked_handler_, false)) handler_.end_turn();
    }
}

void Server::Loop::turn(const epoll_event& event) {
    if (event.data.ptr == &listener_) return accept_some();
    auto& connection = *static_cast<Connection*>(event.data.ptr);
    if (!connection.channel.is_open()) return;
    if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) return close(connection);
    switch (connection.state) {
        case State::reading:
            return receive(connection);
        case State::writing:
            return send(connection);
        case State::streaming:
            return (event.events & EPOLLRDHUP) != 0 ? close(connection) : send(connection);
        case State::draining:
            return drain(connection);
    }
}

int Server::Loop::timeout_ms() const {
    std::optional<Moment> next = accept_again_;
    const auto consider = [&](Moment moment) { next = next ? std::min(*next, moment) : moment; };
    for (const Connection& connection : connections_) {
        if (connection.again) return 0;
        if (connection.has_deadline()) consider(connection.deadline);
    }
    if (next_event_) consider(*next_event_);
    if (!next) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
}

size_t Server::Loop::streams() const {
    return static_cast<size_t>(std::ranges::count_if(connections_, [](const Connection& one) {
        return one.channel.is_open() && one.is_stream();
    }));
}

void Server::Loop::accept_some() {
    for (size_t i = 0; i < accepts_per_turn; ++i) {
        Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket.is_open()) {
            if (would_block(errno)) return;
            if (errno == ECONNABORTED || errno == EINTR) continue;
            return pause_accepting();
        }
        if (open_ >= limits_.connections_max && !make_room()) continue;  // closes the new one
        end_with_vanished_peer(socket.get());
        Connection& connection =
            connections_.emplace_back(Connection{.channel = Channel(std::move(socket), tls_)});
        connection.deadline = Clock::now() + limits_.head_time;
        ++open_;
        if (!watched(EPOLL_CTL_ADD, connection.channel.get(), EPOLLIN, &connection)) {
            close(connection);
        }
    }
}

// Closes the client whose time is over first, among those that have no reply to get.
bool Server::Loop::make_room() {
    Connection* first = nullptr;
    for (Connection& one : connections_) {
        const bool may_close = one.state == State::reading || one.state == State::draining;
        if (!one.channel.is_open() || !may_close) continue;
        if (first == nullptr || one.deadline < first->deadline) first = &one;
    }
    if (first != nullptr) close(*first);
    return first != nullptr;
}

void Server::Loop::pause_accepting() {
    watch(EPOLL_CTL_MOD, listener_.get(), 0, &listener_);
    accept_again_ = Clock::now() + accept_pause;
}

void Server::Loop::obey_deadlines() {
    const Moment now = Clock::now();
    if (accept_again_ && now >= *accept_again_) {
        accept_again_.reset();
        watch(EPOLL_CTL_MOD, listener_.get(), EPOLLIN, &listener_);
    }
    for (Connection& connection : connections_) {
        if (!connection.channel.is_open() || !connection.has_deadline()) continue;
        if (now >= connection.deadline) close(connection);
    }
}

void Server::Loop::receive(Connection& connection) {
    std::array<char, 4096> chunk;
    for (int i = 0; i < receives_per_turn && !connection.again; ++i) {
        if (connection.state != State::reading) return;
        const ssize_t count = connection.channel.receive(chunk);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && would_block(errno)) return watch_reading(connection);
        if (count <= 0) return close(connection);
        // Of a whole head, the time began with its first byte.
        if (connection.received.empty()) connection.deadline = Clock::now() + limits_.head_time;
        connection.received.append(chunk.data(), static_cast<size_t>(count));
        take_request(connection);
        if (!connection.channel.is_open()) return;
    }
    connection.again = connection.again || connection.channel.has_input();
}

// A message of TLS may wait for the socket, too.
void Server::Loop::watch_reading(Connection& connection) const {
    if (tls_) watch(connection, EPOLLIN | (connection.channel.unsent() > 0 ? EPOLLOUT : 0U));
}

void Server::Loop::take_request(Connection& connection) {
    if (!connection.channel.is_open() || connection.state != State::reading) return;
    const ParsedRequest parsed = parse_request(connection.received);
    if (parsed.status == 0) return;
    if (parsed.status == 200) {
        connection.received.erase(0, parsed.bytes);
    } else {
        connection.received.clear();
    }
    answer(connection, parsed);
}

void Server::Loop::answer(Connection& connection, const ParsedRequest& parsed) {
    const Request& request = parsed.request;
    Response response = text_response(parsed.status, std::string(reason_of(parsed.status)) + "\n");
    if (parsed.status == 200) {
        asked_handler_ = true;
        response = handler_.respond(request);
    }
    if (response.is_stream && streams() >= limits_.streams_max) {
        response = text_response(503, "There are too many streams.\n");
    }
    connection.becomes_stream = response.is_stream && !request.is_head;
    connection.closes = parsed.status != 200 || !request.keep_alive || response.is_stream;
    connection.head = head_of(response, !connection.closes);
    connection.body = request.is_head ? nullptr : response.body;
    connection.sent = 0;
    connection.state = State::writing;
    connection.deadline = Clock::now() + limits_.reply_time;
    send(connection);
}

void Server::Loop::send(Connection& connection) {
    while (connection.left() > 0) {
        const std::string_view body = connection.body ? *connection.body : std::string_view();
        const size_t from_head = std::min(connection.sent, connection.head.size());
        const size_t from_body = connection.sent - from_head;
        std::array<iovec, 2> pieces{
            {{connection.head.data() + from_head, connection.head.size() - from_head},
             {const_cast<char*>(body.data()) + from_body, body.size() - from_body}}};
        const ssize_t count = connection.channel.send(pieces);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && would_block(errno)) {
            // A client may close its own direction behind a request, but not behind one for events.
            const bool streams = connection.state == State::streaming;
            return watch(connection, EPOLLOUT | (streams ? EPOLLRDHUP : 0U));
        }
        if (count < 0) return close(connection);
        connection.sent += static_cast<size_t>(count);
    }
    finish_reply(connection);
}

void Server::Loop::finish_reply(Connection& connection) {
    connection.head.clear();
    connection.body.reset();
    connection.sent = 0;
    if (connection.is_stream()) {
        connection.state = State::streaming;
        connection.becomes_stream = false;
        return watch(connection, EPOLLRDHUP);
    }
    if (connection.closes) {
        // A close(2) with unread bytes would reset the connection, and the reply could be lost.
        connection.channel.end_sending();
        connection.state = State::draining;
        connection.deadline = Clock::now() + limits_.drain_time;
    } else {
        connection.state = State::reading;
        connection.again = !connection.received.empty() || connection.channel.has_input();
        connection.deadline =
            Clock::now() + (!connection.received.empty() ? limits_.head_time : limits_.idle_time);
    }
    watch(connection, EPOLLIN);
}

void Server::Loop::drain(Connection& connection) {
    std::array<char, 4096> chunk;
    while (connection.drained < drained_bytes_max) {
        const ssize_t count = ::recv(connection.channel.get(), chunk.data(), chunk.size(), 0);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && would_block(errno)) return;
        if (count <= 0) break;
        connection.drained += static_cast<size_t>(count);
    }
    close(connection);
}

// A client that has not taken the last event misses this one.
void Server::Loop::send_events() {
    if (streams() == 0) return next_event_.reset();
    const Moment now = Clock::now();
    if (next_event_ && now < *next_event_) return;
    next_event_ = now + limits_.event_interval;
    asked_handler_ = true;
    const Body event = handler_.event();
    for (Connection& connection : connections_) {
        const bool takes = connection.channel.is_open() && connection.state == State::streaming;
        if (!takes || connection.left() > 0) continue;
        connection.body = event;
        connection.deadline = now + limits_.stall_time;
        send(connection);
    }
}

void Server::Loop::bound_bodies() {
    std::map<const std::string*, size_t> users;  // of each body
    size_t bytes = 0;
    for (const Connection& connection : connections_) {
        if (connection.body && users[connection.body.get()]++ == 0)
            bytes += connection.body->size();
    }
    while (bytes > limits_.bodies_bytes_max) {
        Connection* slowest = nullptr;
        for (Connection& one : connections_) {
            if (!one.body) continue;
            if (slowest == nullptr || one.deadline < slowest->deadline) slowest = &one;
        }
        assert(slowest != nullptr);
        const Body body = slowest->body;
        if (--users[body.get()] == 0) bytes -= body->size();
        close(*slowest);
    }
}

void Server::Loop::close(Connection& connection) {
    assert(connection.channel.is_open() && open_ > 0);
    connection.channel.close();
    connection.body.reset();
    connection.again = false;
    --open_;
}

Server::Server(Descriptor listener, Handler& handler, const ServerLimits& limits,
               std::shared_ptr<const nbd::TlsContext> tls)
    : loop_(std::make_unique<Loop>(std::move(listener), handler, limits, std::move(tls))) {}

Server::~Server() = default;

void Server::run(int told, const std::function<bool()>& obey) {
    loop_->run(told, obey);
}

void Server::use(std::shared_ptr<const nbd::TlsContext> tls) {
    loop_->use(std::move(tls));
}

void Server::stop() const {
    loop_->stop();
}

}  // namespace blkscope::web
