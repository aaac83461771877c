#include "driver/nbd/worker.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace blkscope::nbd {
namespace {

constexpr unsigned ring_entries = 512;
constexpr size_t request_count = 4096;
constexpr size_t connections_expected = 256;  // lists have room for so many before they grow

// A client that holds memory without taking or giving a byte for so long is given up, if others
// wait for memory.
constexpr unsigned idle_holder_seconds_max = 10;

// What a client has to take its last replies in when its export goes.
constexpr unsigned leave_seconds_max = 5;

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
    assert(!thread_.joinable() && connections_.empty() && leaving_.empty());
    for (const Arrival& arrival : inbox_) ::close(arrival.socket);
    ::close(inbox_event_);
}

// ---- From other threads ----

void Worker::start() {
    thread_ = std::thread(&Worker::run, this);
}

void Worker::hand_over(Export& exp, const Terms& terms, int socket,
                       std::unique_ptr<TlsSession> tls) {
    {
        const std::lock_guard lock(inbox_mutex_);
        inbox_.push_back({&exp, terms, socket, std::move(tls)});
        connection_count_.fetch_add(1);
    }
    eventfd_write(inbox_event_, 1);
}

// On the worker's thread, and back when it is done; what it throws is thrown here.
void Worker::call(std::function<void()> what) {
    if (!thread_.joinable()) return what();
    std::packaged_task<void()> task(std::move(what));
    std::future<void> done = task.get_future();
    {
        const std::lock_guard lock(inbox_mutex_);
        inbox_calls_.push_back(std::move(task));
    }
    eventfd_write(inbox_event_, 1);
    done.get();
}

std::unique_ptr<Export> Worker::make_export(ExportOptions options) {
    std::unique_ptr<Export> exp;
    call([&] { exp = std::make_unique<Export>(*this, std::move(options)); });
    ++exports_;
    return exp;
}

void Worker::retire(std::unique_ptr<Export> exp) {
    --exports_;
    if (!thread_.joinable()) return exp.reset();  // nobody was served
    {
        const std::lock_guard lock(inbox_mutex_);
        inbox_leaving_.push_back(std::move(exp));
    }
    eventfd_write(inbox_event_, 1);
}

void Worker::stop() {
    stop_requested_.store(true);
    eventfd_write(inbox_event_, 1);
}

bool Worker::join(std::optional<std::chrono::steady_clock::time_point> deadline) {
    if (!thread_.joinable()) return true;
    if (deadline && end_.wait_until(*deadline) == std::future_status::timeout) return false;
    thread_.join();
    return true;
}

// ---- The loop ----

void Worker::run() {
    ring_.enable();
    watch_inbox();
    watch_clock();
    while (!stopping_ || !connections_.empty() || !leaving_.empty()) {
        ring_.wait(yielded_.empty());
        resume(yielded_, &Connection::in_yielded_list);
        ring_.dispatch();
        resume(stalled_, &Connection::in_stalled_list);
        serve_changed();
        see_off();
    }
    ended_.set_value();
}

void Worker::watch_inbox() {
    ring_.prepare(inbox_operation_, [&](io_uring_sqe* entry) {
        io_uring_prep_read(entry, inbox_event_, &inbox_signal_, sizeof inbox_signal_, 0);
    });
}

void Worker::take_inbox(int32_t) {
    std::vector<Arrival> arrivals;
    std::vector<std::unique_ptr<Export>> leaving;
    std::vector<std::packaged_task<void()>> calls;
    {
        const std::lock_guard lock(inbox_mutex_);
        arrivals.swap(inbox_);
        leaving.swap(inbox_leaving_);
        calls.swap(inbox_calls_);
        stopping_ = stop_requested_.load();
    }
    for (Arrival& arrival : arrivals) {
        connections_.push_back(std::make_unique<Connection>(
            *this, *arrival.exp, arrival.terms, arrival.socket, std::move(arrival.tls)));
    }
    for (auto& exp : leaving) begin_to_leave(std::move(exp));
    for (auto& task : calls) task();
    watch_inbox();
}

void Worker::watch_clock() {
    ring_.prepare(clock_operation_, [&](io_uring_sqe* entry) {
        io_uring_prep_timeout(entry, &tick_interval_, 0, 0);
    });
}

void Worker::tick(int32_t) {
    give_up_on_idle_holders();
    for (const auto& leaver : leaving_) hurry_up(*leaver);
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

// ---- Exports that leave ----

void Worker::begin_to_leave(std::unique_ptr<Export> exp) {
    for (const auto& connection : connections_) {
        if (&connection->exp() == exp.get()) connection->end();
    }
    auto leaver = std::make_unique<Leaver>();
    leaver->op = Buf::Op::flush;
    leaver->iodone = last_flush_done;
    leaver->worker = this;
    leaver->exp = std::move(exp);
    leaving_.push_back(std::move(leaver));
}

bool Worker::has_clients(const Export& exp) const {
    return std::any_of(connections_.begin(), connections_.end(),
                       [&](const auto& connection) { return &connection->exp() == &exp; });
}

// Without clients nothing is written any more: what they wrote is flushed, even if they did not ask
// for it, and then the device has nothing to do.
void Worker::see_off() {
    if (leaving_.empty()) return;
    for (const auto& leaver : leaving_) {
        if (leaver->flushing || has_clients(*leaver->exp)) continue;
        leaver->flushing = true;
        leaver->exp->device.strategy(*leaver);
    }
    std::erase_if(leaving_, [](const auto& leaver) { return leaver->flushed; });
}

void Worker::last_flush_done(Buf& buf) {
    auto& leaver = static_cast<Leaver&>(buf);
    leaver.flushed = true;
    if (buf.error == 0) return;
    leaver.worker->all_flushed_.store(false);
    fmt::print(stderr,
               "blkscope: {}: flush at the end: {}; data that was not flushed before may be lost\n",
               leaver.exp->device.name(), std::strerror(buf.error));
}

void Worker::hurry_up(Leaver& leaver) {
    if (++leaver.seconds < leave_seconds_max) return;
    for (const auto& connection : connections_) {
        if (&connection->exp() == leaver.exp.get()) {
            connection->give_up("does not take its replies, and its export goes");
        }
    }
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
    if (connection_ended_) connection_ended_();
}

void Worker::log(const Export& exp, std::string_view why) {
    log_.print(fmt::format("{}: connection closed: {}", exp.device.name(), why));
}

}  // namespace blkscope::nbd
