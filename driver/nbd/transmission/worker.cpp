#include "driver/nbd/transmission/worker.hpp"

#include <cassert>
#include <new>
#include <system_error>

#include "base/throw_errno.hpp"

namespace blkscope::nbd {
namespace {

constexpr unsigned ring_entries = 512;

}  // namespace

Worker::Worker(bool busy_wait, Kernel& kernel, size_t recorder_records)
    : ring_(ring_entries, busy_wait, kernel), recorder_(kernel, recorder_records) {}

Worker::~Worker() {
    assert(!thread_.joinable() && sessions_.empty() && closing_.empty());
    const Mail left = mailbox_.take();
    assert(connection_count_.load() == left.arrivals.size());
    for (const Arrival& arrival : left.arrivals) ring_.kernel().close(arrival.socket);
}

// ---- From other threads ----

void Worker::start() {
    assert(!begun_ && !thread_.joinable());
    std::future<void> entered = entered_.get_future();
    try {
        thread_ = std::thread(&Worker::run, this);
    } catch (const std::system_error& error) {
        throw_errno("start the thread of a worker", error.code().value());
    }
    try {
        entered.get();
    } catch (...) {
        thread_.join();
        throw;
    }
    begun_ = true;
}

void Worker::hand_over(Export& exp, const Terms& terms, int socket, std::unique_ptr<TlsSession> tls,
                       std::optional<ClientIdentity> who) {
    assert(socket >= 0);
    assert(&exp.worker == this || exp.device.backing().shareable());
    mailbox_.send([&](Mail& mail) {
        mail.arrivals.push_back({&exp, terms, socket, std::move(tls), std::move(who)});
        // Behind what may lack memory, and before the worker can look.
        connection_count_.fetch_add(1);
        if (&exp.worker != this) exp.visitors.fetch_add(1);
    });
}

std::unique_ptr<Export> Worker::make_export(ExportOptions options) {
    std::unique_ptr<Export> exp;
    std::packaged_task<void()> make(
        [&] { exp = std::make_unique<Export>(*this, std::move(options)); });
    std::future<void> made = make.get_future();
    if (thread_.joinable()) {
        mailbox_.send([&](Mail& mail) { mail.calls.push_back(std::move(make)); });
    } else {
        make();
    }
    made.get();  // rethrows the constructor's exception
    assert(exp != nullptr);
    assert(&exp->worker == this);
    ++exports_;
    return exp;
}

void Worker::close_clients(uint64_t export_serial) {
    mailbox_.send([&](Mail& mail) { mail.endings.push_back(export_serial); });
}

void Worker::close_export(std::unique_ptr<Export> exp) {
    assert(exports_ > 0);
    assert(exp != nullptr);
    assert(&exp->worker == this);
    --exports_;
    if (!begun_) return exp.reset();  // no client was served
    mailbox_.send([&](Mail& mail) { mail.closing.push_back(std::move(exp)); });
}

void Worker::stop() {
    assert(exports_ == 0);
    mailbox_.send([](Mail& mail) { mail.stop = true; });
}

bool Worker::join(std::optional<std::chrono::steady_clock::time_point> deadline) {
    if (!thread_.joinable()) return true;
    if (deadline && end_.wait_until(*deadline) == std::future_status::timeout) return false;
    thread_.join();
    return true;
}

// ---- The turn ----

void Worker::run() {
    try {
        enter();
    } catch (...) {
        return entered_.set_exception(std::current_exception());
    }
    entered_.set_value();
    while (!finished()) {
        wait();
        turn();
    }
    // Otherwise Linux 6.1 has the files open for a second more, even when the process has ended: a disk could not
    // be given to somebody else.
    ring_.uring().drop_files();
    ended_.set_value();
}

void Worker::begin() {
    assert(!begun_ && !thread_.joinable());
    enter();
    begun_ = true;
}

void Worker::enter() {
    ring_.enable();
    ticker_.begin();
}

bool Worker::finished() const {
    return stopping_ && sessions_.empty() && closing_.empty();
}

void Worker::wait() {
    ring_.wait(sessions_.may_sleep() && !closing_.has_more());
}

// The device is unlocked before the turn ends, because closing_.advance() may destroy a device.
void Worker::turn() {
    sessions_.resume_yielded();
    ring_.dispatch();
    if (mailbox_.has_mail()) read_mail();
    sessions_.resume_waiting();
    ring_.unlock();
    sessions_.serve_all();
    sessions_.receive_all();
    closing_.advance();
    ring_.unlock();
}

void Worker::read_mail() {
    Mail mail = mailbox_.take();
    stopping_ = stopping_ || mail.stop;
    for (Arrival& arrival : mail.arrivals) admit(std::move(arrival));
    for (const uint64_t serial : mail.endings) closing_.close_clients(serial);
    for (auto& exp : mail.closing) closing_.close(std::move(exp));
    ring_.unlock();  // making an export takes too long to keep a device locked
    for (auto& task : mail.calls) task();
}

void Worker::Ticker::begin() {
    worker_.ring_.prepare(
        *this, [&](io_uring_sqe* entry) { io_uring_prep_timeout(entry, &interval_, 0, 0); });
}

void Worker::Ticker::complete(int32_t) {
    worker_.sessions_.tick();
    worker_.closing_.tick();
    begin();
}

// ---- Sessions ----

void Worker::admit(Arrival arrival) {
    assert(arrival.exp != nullptr);
    assert(arrival.socket >= 0);
    [[maybe_unused]] const int socket = arrival.socket;  // clang-tidy does not follow exceptions
    Export& exp = *arrival.exp;
    assert(&exp.worker == this || exp.visitors.load() > 0);
    Lane* lane = nullptr;
    try {
        lane = &exp.worker == this ? &exp.device.first_lane() : &visits_.open_lane(exp);
        sessions_.open(*lane, std::move(arrival));
        return;
    } catch (const std::system_error& error) {  // no lane: out of descriptors
        sessions_.log(exp, error.what());
    } catch (const std::bad_alloc&) {
        sessions_.log(exp, "no memory for another client");
    }
    ring_.kernel().close(socket);
    lane != nullptr ? session_closed(exp) : connection_closed(exp);
}

void Worker::session_closed(Export& exp) {
    if (&exp.worker != this) visits_.close_lane(exp);
    connection_closed(exp);
}

// The worker of the export may be waiting for its last visitor.
void Worker::connection_closed(Export& exp) {
    assert(connection_count_.load() > 0);
    assert(&exp.worker == this || exp.visitors.load() > 0);
    connection_count_.fetch_sub(1);
    if (Worker& owner = exp.worker; &owner != this && exp.visitors.fetch_sub(1) == 1) owner.wake();
    if (connection_ended_) connection_ended_();
}

}  // namespace blkscope::nbd
