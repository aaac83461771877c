#include "kstat/reader/provider.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "base/run_directory.hpp"
#include "kstat/reader/left_out.hpp"
#include "kstat/reader/process.hpp"

namespace blkscope::kstat {
namespace {

constexpr const char* no_answer = "does not answer";

template <class T>
bool is_silent(const Result<T>& answer) {
    return !answer && answer.error() == std::errc::timed_out;
}

template <class T>
bool lacks_descriptor(const Result<T>& answer) {
    return !answer && (answer.error() == std::errc::too_many_files_open ||
                       answer.error() == std::errc::too_many_files_open_in_system);
}

bool is_invalid(const Result<Reply>& reply) {
    return !reply && reply.error() == std::errc::protocol_error;
}

// A child of fork() connects by itself.
void leave_to_parent(std::unique_ptr<ProviderConnection>& connection) {
    if (connection && connection->is_inherited()) connection.reset();
}

// True at the first call for each socket in this process.
bool is_new(const std::string& path) {
    static std::mutex mutex;
    static std::set<std::string> told;
    const std::lock_guard lock(mutex);
    return told.insert(path).second;
}

}  // namespace

void Provider::leave_out(const char* what) const {
    const std::string path = directory_.path + "/" + name_;
    const bool is_decided = kstat_left_out != nullptr;
    const bool is_to_tell = is_decided && kstat_left_out(path.c_str());
    const char* const program = secure_getenv("KSTAT_WARN");
    if (program == nullptr || *program == '\0') return;
    if (!(is_decided ? is_to_tell : is_new(path))) return;
    std::fprintf(stderr, "%s: %s %s; its statistics are left out\n", program, path.c_str(), what);
}

void Provider::drop() {
    leave_out("sent an invalid reply");
    connection_.reset();
}

// False: not connected. After a full backlog `silent_` is as before.
bool Provider::connect(Deadline deadline) {
    greeted_ = false;
    auto opened = ProviderConnection::open(directory_, name_, deadline);
    is_full_ = is_silent(opened);
    shortage_ = lacks_descriptor(opened) ? opened.error().value() : 0;
    if (!is_full_) silent_ = false;
    if (!opened) return false;
    connection_ = std::move(*opened);
    const wire::Hello hello{wire::magic, wire::version};
    if (!connection_->send(wire::Op::hello, wire::bytes_of(hello), {}, 0, deadline)) {
        connection_.reset();
    }
    return connection_ != nullptr;
}

// Waits for a place in a full backlog once. The socket's name is the only thing that names the
// process.
bool Provider::connect_unless_silent(Deadline deadline) {
    const bool is_vain = silent_ || is_stopped(pid());
    const bool connected = connect(is_vain ? std::chrono::steady_clock::now() : deadline);
    silent_ = is_full_;
    return connected;
}

void Provider::ask(Deadline deadline) {
    slow_answers_ = {};
    leave_to_parent(connection_);
    if (!connection_) {
        connect(std::chrono::steady_clock::now());
        return;
    }
    if (connection_->owes_reply() && !wait(std::chrono::steady_clock::now())) return;
    if (!connection_) return;  // the late reply was invalid
    if (!connection_->owes_reply() && !connection_->send(wire::Op::chain_id, {}, {}, 0, deadline)) {
        connection_.reset();
    }
}

void Provider::hear(Deadline deadline) {
    if (connection_ && connection_->owes_reply()) {
        const auto reply = wait(silent_ ? std::chrono::steady_clock::now() : deadline);
        if (is_silent(reply)) leave_out(no_answer);
        if (reply || is_silent(reply)) return;
    }
    // A closed connection means that the process ended, or that it had too many readers.
    if (!connection_ && connect_unless_silent(deadline)) static_cast<void>(wait(deadline));
    if (silent_) leave_out(no_answer);
    tell_if_it_listens();
}

// Where a process listens and closes each connection, statistics are missing. A process that has ended
// has none.
void Provider::tell_if_it_listens() const {
    if (connection_ || silent_) return;
    if (!ProviderConnection::open(directory_, name_, std::chrono::steady_clock::now())) return;
    leave_out("closes its connections");
}

// Follows what the reply says about the provider. A dead connection is dropped.
Result<Reply> Provider::wait(Deadline deadline) {
    auto reply = connection_->receive(deadline);
    if (reply) {
        silent_ = false;
        understand(*reply);
    } else if (is_silent(reply)) {
        silent_ = true;
    } else if (is_invalid(reply)) {
        drop();
    } else {
        connection_.reset();
    }
    return reply;
}

void Provider::understand(const Reply& reply) {
    chain_id_ = reply.head.chain_id;
    if (!greeted_) understand_welcome(reply);
}

void Provider::understand_welcome(const Reply& reply) {
    wire::Bytes body(reply.body);
    const auto welcome = wire::take<wire::Welcome>(body);
    if (reply.head.error != 0 || !welcome || welcome->magic != wire::magic) return drop();
    greeted_ = true;
    if (welcome->identity == identity_) return;
    replaced_ = identity_ != 0;
    identity_ = welcome->identity;
    list_time = {};
    listed_chain_id_ = 0;  // no chain has this id
}

Result<Reply> Provider::exchange(wire::Op op, wire::Bytes body, wire::Bytes data,
                                 size_t reply_size) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (replaced_) return os_error(ENXIO);  // its kstats are not those that were listed
        if (slow_answers_.are_too_many()) {
            leave_out("answers too slowly");
            return os_error(ETIMEDOUT);
        }
        if (!is_ready() && !reconnect()) break;
        const auto asked = std::chrono::steady_clock::now();
        if (!connection_->send(op, body, data, reply_size, soon())) {
            connection_.reset();
            continue;
        }
        auto reply = wait(soon());
        if (reply) slow_answers_.note(asked, data.size(), *reply);
        if (is_silent(reply)) leave_out(no_answer);
        if (reply || is_silent(reply)) return reply;
        // The provider may only have had too many readers: one more try.
    }
    if (silent_) leave_out(no_answer);
    tell_if_it_listens();
    return os_error(silent_ ? ETIMEDOUT : ENXIO);
}

void Provider::ask_ahead(wire::Op op, wire::Bytes body) {
    heard_ahead_.reset();
    is_asked_ahead_ = is_ready() && connection_->send(op, body, {}, 0, soon());
}

void Provider::hear_ahead(Deadline deadline) {
    if (!is_asked_ahead_ || heard_ahead_ || !connection_) return;
    auto reply = wait(deadline);
    if (!is_silent(reply)) heard_ahead_ = std::move(reply);
}

// The time of such an answer is not counted: the reader may have awaited others before it.
Result<Reply> Provider::asked_ahead(wire::Op op, wire::Bytes body) {
    if (!std::exchange(is_asked_ahead_, false)) return exchange(op, body);
    if (auto heard = std::exchange(heard_ahead_, {}); heard && *heard) return std::move(*heard);
    if (!connection_) return exchange(op, body);
    leave_out(no_answer);
    return os_error(ETIMEDOUT);
}

Result<Reply> Provider::ask_page(wire::Op op, wire::Bytes body) {
    if (list_time.is_over()) {
        leave_out("answers too slowly");
        return os_error(ETIMEDOUT);
    }
    return asked_ahead(op, body);
}

// True if a request can be sent now. Takes a late reply first.
bool Provider::is_ready() {
    leave_to_parent(connection_);
    if (connection_ && connection_->owes_reply()) {
        static_cast<void>(wait(std::chrono::steady_clock::now()));
    }
    return connection_ && greeted_ && !connection_->owes_reply();
}

// Connects to the same process again, if it still runs; another process's kstats have other
// numbers.
bool Provider::reconnect() {
    if (connection_ || !connect_unless_silent(soon())) return false;
    return wait(soon()) && connection_ && !replaced_;
}

pid_t Provider::pid() const {
    return pid_of_socket(name_).value_or(0);
}

bool Provider::may_be_written() const {
    return geteuid() == 0 || (connection_ && connection_->peer() == geteuid());
}

}  // namespace blkscope::kstat
