#include "driver/nbd/transmission/worker.hpp"

#include <fmt/format.h>

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

Worker::Worker(bool busy_wait, Kernel& kernel)
    : ring_(ring_entries, busy_wait, kernel), requests_(request_count) {
    connections_.reserve(connections_expected);
    changed_.reserve(connections_expected);
    stalled_.reserve(connections_expected);
    yielded_.reserve(connections_expected);
    receiving_.reserve(connections_expected);
    resuming_.reserve(connections_expected);
    tick_interval_.tv_sec = 1;
}

Worker::~Worker() {
    assert(!thread_.joinable() && connections_.empty() && visits_.empty() && leaving_.empty());
    for (const Arrival& arrival : inbox_.arrivals) ring_.kernel().close(arrival.socket);
}

// ---- From other threads ----

void Worker::start() {
    assert(!begun_);
    begun_ = true;
    thread_ = std::thread(&Worker::run, this);
}

// Puts something into the inbox and has the worker look.
template <class Change>
void Worker::send(Change change) {
    {
        const std::lock_guard lock(inbox_mutex_);
        change(inbox_);
        has_mail_.store(true, std::memory_order_release);
    }
    ring_.wake();
}

void Worker::hand_over(Export& exp, const Terms& terms, int socket,
                       std::unique_ptr<TlsSession> tls) {
    connection_count_.fetch_add(1);
    if (&exp.worker != this) exp.visitors.fetch_add(1);
    send([&](Inbox& inbox) { inbox.arrivals.push_back({&exp, terms, socket, std::move(tls)}); });
}

// On the worker's thread, and back when it is done; what it throws is thrown here.
void Worker::call(std::function<void()> what) {
    if (!thread_.joinable()) return what();
    std::packaged_task<void()> task(std::move(what));
    std::future<void> done = task.get_future();
    send([&](Inbox& inbox) { inbox.calls.push_back(std::move(task)); });
    done.get();
}

std::unique_ptr<Export> Worker::make_export(ExportOptions options) {
    std::unique_ptr<Export> exp;
    call([&] { exp = std::make_unique<Export>(*this, std::move(options)); });
    ++exports_;
    return exp;
}

void Worker::end_clients(uint64_t export_serial) {
    send([&](Inbox& inbox) { inbox.endings.push_back(export_serial); });
}

void Worker::retire(std::unique_ptr<Export> exp) {
    --exports_;
    if (!begun_) return exp.reset();  // nobody was served
    send([&](Inbox& inbox) { inbox.leaving.push_back(std::move(exp)); });
}

void Worker::stop() {
    send([&](Inbox&) { stop_requested_.store(true); });
}

bool Worker::join(std::optional<std::chrono::steady_clock::time_point> deadline) {
    if (!thread_.joinable()) return true;
    if (deadline && end_.wait_until(*deadline) == std::future_status::timeout) return false;
    thread_.join();
    return true;
}

// ---- The loop ----

void Worker::run() {
    enter();
    while (!finished()) {
        wait();
        turn();
    }
    ended_.set_value();
}

void Worker::begin() {
    assert(!begun_ && !thread_.joinable());
    enter();
    begun_ = true;
}

void Worker::enter() {
    ring_.enable();
    watch_clock();
}

bool Worker::finished() const {
    return stopping_ && connections_.empty() && leaving_.empty();
}

void Worker::wait() {
    ring_.wait(yielded_.empty() && receiving_.empty());
}

// The device's lock is given back before the turn ends: what follows it may end devices.
void Worker::turn() {
    resume(yielded_, &Connection::in_yielded_list);
    ring_.dispatch();
    look_into_inbox();
    resume(stalled_, &Connection::in_stalled_list);
    ring_.let_go();
    serve_changed();
    receive_next();
    see_off();
    ring_.let_go();
}

void Worker::look_into_inbox() {
    if (!has_mail_.load(std::memory_order_acquire)) return;
    Inbox mail;
    {
        const std::lock_guard lock(inbox_mutex_);
        std::swap(mail, inbox_);
        has_mail_.store(false, std::memory_order_relaxed);
        stopping_ = stop_requested_.load();
    }
    for (Arrival& arrival : mail.arrivals) admit(std::move(arrival));
    for (const uint64_t serial : mail.endings) begin_to_end(serial);
    for (auto& exp : mail.leaving) begin_to_leave(std::move(exp));
    ring_.let_go();  // to make an export takes longer than others should wait for a device
    for (auto& task : mail.calls) task();
}

void Worker::watch_clock() {
    ring_.prepare(clock_operation_, [&](io_uring_sqe* entry) {
        io_uring_prep_timeout(entry, &tick_interval_, 0, 0);
    });
}

void Worker::tick(int32_t) {
    give_up_on_idle_holders();
    for (Ending& ending : endings_) hurry_up(ending);
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

// ---- Exports of other workers ----

void Worker::admit(Arrival arrival) {
    Export& exp = *arrival.exp;
    try {
        Lane& lane = lane_to(exp);
        connections_.push_back(std::make_unique<Connection>(
            *this, exp, lane, arrival.terms, arrival.socket, std::move(arrival.tls)));
    } catch (const std::system_error& error) {  // no lane: out of descriptors
        log(exp, error.what());
        ring_.kernel().close(arrival.socket);
        gone(exp);
    }
}

Lane& Worker::lane_to(Export& exp) {
    if (&exp.worker == this) return exp.device.first_lane();
    auto visit = std::find_if(visits_.begin(), visits_.end(),
                              [&](const Visit& known) { return known.exp == &exp; });
    if (visit == visits_.end()) {
        visit = visits_.insert(visit, {&exp, exp.device.open_lane(ring_), 0});
    }
    ++visit->clients;
    return *visit->lane;
}

// Without a client the lane goes, too: the export may, from here on.
void Worker::leave(Export& exp) {
    const auto visit = std::find_if(visits_.begin(), visits_.end(),
                                    [&](const Visit& known) { return known.exp == &exp; });
    if (--visit->clients == 0) visits_.erase(visit);
}

// A client is not there any more.
void Worker::gone(Export& exp) {
    connection_count_.fetch_sub(1);
    if (Worker& owner = exp.worker; &owner != this && exp.visitors.fetch_sub(1) == 1) owner.wake();
    if (connection_ended_) connection_ended_();
}

// ---- Exports that leave ----

void Worker::begin_to_end(uint64_t export_serial) {
    for (const auto& connection : connections_) {
        if (connection->exp().serial == export_serial) connection->end();
    }
    if (has_clients(export_serial)) endings_.push_back({export_serial, 0});
}

void Worker::begin_to_leave(std::unique_ptr<Export> exp) {
    begin_to_end(exp->serial);
    auto leaver = std::make_unique<Leaver>();
    leaver->op = Buf::Op::flush;
    leaver->iodone = last_flush_done;
    leaver->worker = this;
    leaver->exp = std::move(exp);
    leaving_.push_back(std::move(leaver));
}

bool Worker::has_clients(uint64_t export_serial) const {
    return std::any_of(connections_.begin(), connections_.end(), [&](const auto& connection) {
        return connection->exp().serial == export_serial;
    });
}

// Without clients nothing is written any more: what they wrote is flushed, even if they did not ask
// for it, and then the device has nothing to do.
void Worker::see_off() {
    if (!endings_.empty()) {
        std::erase_if(endings_,
                      [&](const Ending& ending) { return !has_clients(ending.export_serial); });
    }
    if (leaving_.empty()) return;
    for (const auto& leaver : leaving_) {
        Export& exp = *leaver->exp;
        if (leaver->flushing || exp.visitors.load() > 0 || has_clients(exp.serial)) continue;
        leaver->flushing = true;
        exp.device.strategy(*leaver);
    }
    ring_.let_go();  // the same for its end
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

void Worker::hurry_up(Ending& ending) {
    if (++ending.seconds < leave_seconds_max) return;
    for (const auto& connection : connections_) {
        if (connection->exp().serial == ending.export_serial) {
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

void Worker::receives_next(Connection& connection) {
    if (connection.in_receiving_list) return;
    connection.in_receiving_list = true;
    receiving_.push_back(&connection);
}

void Worker::receive_next() {
    std::erase_if(receiving_, [](Connection* connection) {
        connection->in_receiving_list = !connection->receive_next();
        return !connection->in_receiving_list;
    });
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
    Export& exp = connection.exp();
    std::erase(stalled_, &connection);
    std::erase(yielded_, &connection);
    std::erase(receiving_, &connection);
    std::erase_if(connections_, [&](const auto& owned) { return owned.get() == &connection; });
    if (&exp.worker != this) leave(exp);
    gone(exp);
}

void Worker::log(const Export& exp, std::string_view why) {
    ring_.let_go();  // who reads our standard error may be slow
    log_.print(fmt::format("{}: connection closed: {}", exp.device.name(), why));
}

}  // namespace blkscope::nbd
