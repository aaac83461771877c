#include "driver/nbd/worker.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <system_error>

namespace blkscope::nbd {
namespace {

constexpr unsigned ring_entries = 512;
constexpr size_t request_count = 4096;
constexpr size_t connections_expected = 256;  // lists have room for so many before they grow

// A client that holds memory without taking or giving a byte for so long is given up, if others
// wait for memory.
constexpr unsigned idle_holder_seconds_max = 10;

// What a client has to take its last replies in when the server stops.
constexpr unsigned stop_seconds_max = 5;

constexpr uint32_t large_bytes = Arena::slot_bytes_max + 1;

}  // namespace

Worker::Worker() : ring_(ring_entries), requests_(request_count) {
    inbox_event_ = eventfd(0, EFD_CLOEXEC);
    if (inbox_event_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    connections_.reserve(connections_expected);
    changed_.reserve(connections_expected);
    stalled_.reserve(connections_expected);
    yielded_.reserve(connections_expected);
    resuming_.reserve(connections_expected);
    tick_interval_.tv_sec = 1;
}

Worker::~Worker() {
    assert(!thread_.joinable() && connections_.empty());
    for (const Arrival& arrival : inbox_) ::close(arrival.socket);
    ::close(inbox_event_);
}

// ---- From other threads ----

void Worker::start() {
    thread_ = std::thread(&Worker::run, this);
}

void Worker::hand_over(Export& exp, const Terms& terms, int socket) {
    {
        const std::lock_guard lock(inbox_mutex_);
        inbox_.push_back({&exp, terms, socket});
        connection_count_.fetch_add(1);
    }
    eventfd_write(inbox_event_, 1);
}

void Worker::stop() {
    stop_requested_.store(true);
    eventfd_write(inbox_event_, 1);
}

void Worker::join() {
    if (thread_.joinable()) thread_.join();
}

// ---- The loop ----

void Worker::run() {
    ring_.enable();
    watch_inbox();
    watch_clock();
    while (!stopping_ || !connections_.empty()) {
        ring_.wait(yielded_.empty());
        resume(yielded_, &Connection::in_yielded_list);
        ring_.dispatch();
        resume(stalled_, &Connection::in_stalled_list);
        serve_changed();
    }
}

void Worker::watch_inbox() {
    ring_.prepare(inbox_operation_, [&](io_uring_sqe* entry) {
        io_uring_prep_read(entry, inbox_event_, &inbox_signal_, sizeof inbox_signal_, 0);
    });
}

void Worker::take_inbox(int32_t) {
    std::vector<Arrival> arrivals;
    {
        const std::lock_guard lock(inbox_mutex_);
        arrivals.swap(inbox_);
    }
    for (const Arrival& arrival : arrivals) {
        connections_.push_back(
            std::make_unique<Connection>(*this, *arrival.exp, arrival.terms, arrival.socket));
    }
    stopping_ = stop_requested_.load();
    if (stopping_) {
        for (const auto& connection : connections_) connection->end();
    }
    watch_inbox();
}

void Worker::watch_clock() {
    ring_.prepare(clock_operation_, [&](io_uring_sqe* entry) {
        io_uring_prep_timeout(entry, &tick_interval_, 0, 0);
    });
}

void Worker::tick(int32_t) {
    give_up_on_idle_holders();
    if (stopping_ && ++seconds_stopping_ >= stop_seconds_max) {
        for (const auto& connection : connections_) {
            connection->give_up("does not take its replies, and the server stops");
        }
    }
    watch_clock();
}

void Worker::give_up_on_idle_holders() {
    for (const auto& connection : connections_) {
        const unsigned seconds = connection->tick();
        if (seconds >= idle_holder_seconds_max && others_wait(*connection)) {
            connection->give_up("holds memory that others wait for, and neither sends nor takes");
        }
    }
}

// A client that has used up its own share waits for itself: it may sleep for as long as it likes.
bool Worker::others_wait(const Connection& holder) const {
    return std::any_of(stalled_.begin(), stalled_.end(), [&](const Connection* waiting) {
        return waiting != &holder && waiting->waits_for_others();
    });
}

// ---- Room ----

std::byte* Worker::acquire(Connection& connection, uint32_t bytes) {
    const bool large = bytes >= large_bytes;
    if (large && first_in_line_ != nullptr && first_in_line_ != &connection) return nullptr;
    std::byte* piece = arena_.acquire(bytes);
    if (large) first_in_line_ = piece == nullptr ? &connection : nullptr;
    return piece;
}

void Worker::leave_line(Connection& connection) {
    if (first_in_line_ == &connection) first_in_line_ = nullptr;
}

void Worker::stalled(Connection& connection) {
    if (connection.in_stalled_list) return;
    connection.in_stalled_list = true;
    stalled_.push_back(&connection);
}

void Worker::yielded(Connection& connection) {
    if (connection.in_yielded_list) return;
    connection.in_yielded_list = true;
    yielded_.push_back(&connection);
}

// Whoever still finds no room stands at the end of the list again, in the same order.
void Worker::resume(std::vector<Connection*>& list, bool Connection::*in_list) {
    if (list.empty()) return;
    resuming_.swap(list);
    for (Connection* connection : resuming_) connection->*in_list = false;
    for (Connection* connection : resuming_) connection->resume();
    resuming_.clear();
}

// ---- Connections ----

void Worker::changed(Connection& connection) {
    if (connection.in_changed_list) return;
    connection.in_changed_list = true;
    changed_.push_back(&connection);
}

void Worker::serve_changed() {
    for (Connection* connection : changed_) {
        connection->in_changed_list = false;
        connection->send_replies();
        if (connection->finished()) drop(*connection);
    }
    changed_.clear();
}

void Worker::drop(Connection& connection) {
    std::erase(stalled_, &connection);
    std::erase(yielded_, &connection);
    std::erase_if(connections_, [&](const auto& owned) { return owned.get() == &connection; });
    connection_count_.fetch_sub(1);
}

void Worker::log(const Export& exp, std::string_view why) {
    log_.print(fmt::format("{}: connection closed: {}", exp.device.name(), why));
}

}  // namespace blkscope::nbd
