#include "kstat/reader/provider_connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/descriptor_limit.hpp"
#include "base/run_directory.hpp"
#include "kstat/reader/process.hpp"

namespace blkscope::kstat {
namespace {

// The buffer starts at this size and grows by the received bytes: an announced length alone costs
// nothing.
constexpr size_t first_size = 16 << 10;

// A running provider usually answers within this time.
constexpr auto moment = std::chrono::milliseconds(20);
// A provider that was stopped for this long stays so. A throttled one goes on before.
constexpr auto stopped_max = std::chrono::milliseconds(200);

std::chrono::milliseconds left_until(Deadline deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return std::max(left, std::chrono::milliseconds(0));
}

Deadline extended(Deadline deadline, size_t bytes_moved) {
    return deadline + time_to_move(bytes_moved);
}

// False: the deadline has passed.
bool wait_for(int socket, short events, Deadline deadline) {
    pollfd poller{socket, events, 0};
    for (;;) {
        const auto left = left_until(deadline);
        const int ready = poll(&poller, 1, static_cast<int>(left.count()));
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

bool is_believed(uid_t user, const Directory& directory) {
    return user == 0 || user == geteuid() || user == directory.owner || directory.is_for_group;
}

// Limits the wait of a connect to a full backlog.
void limit_connect(int socket, Deadline deadline) {
    const auto left = left_until(deadline);
    const timeval limit{left.count() / 1000, left.count() % 1000 * 1000};
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (left.count() == 0) fcntl(socket, F_SETFL, O_NONBLOCK);
}

// An errno, or 0.
int connect_to(int socket, const Directory& directory, const std::string& name) {
    const sockaddr_un address = socket_address(directory.descriptor.get(), name);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    return ::connect(socket, generic, sizeof address) == 0 ? 0 : errno;
}

// Some descriptors stay free: for the run directory, the files of /proc and the program itself.
bool is_among_the_last(int descriptor) {
    constexpr uint64_t kept_free = 24;
    const uint64_t limit = descriptor_limit();
    return static_cast<uint64_t>(descriptor) >= limit - std::min(kept_free, limit / 4);
}

// Removes a socket on which no process listens: its provider was killed. A socket that listens now
// has been renamed to this name, so its file is another one.
void remove_dead(const Directory& directory, const std::string& name, const struct stat& dead) {
    struct stat now {};
    const auto pid = pid_of_socket(name);
    if (dead.st_uid != geteuid() || !pid || ::kill(*pid, 0) == 0 || errno != ESRCH) return;
    if (fstatat(directory.descriptor.get(), name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (now.st_dev != dead.st_dev || now.st_ino != dead.st_ino) return;
    unlinkat(directory.descriptor.get(), name.c_str(), 0);
}

}  // namespace

Deadline soon() {
    return std::chrono::steady_clock::now() + patience;
}

std::chrono::nanoseconds time_to_move(size_t bytes) {
    return std::chrono::nanoseconds(bytes * 125);
}

Result<std::unique_ptr<ProviderConnection>> ProviderConnection::open(const Directory& directory,
                                                                     const std::string& name,
                                                                     Deadline deadline) {
    struct stat file {};
    if (fstatat(directory.descriptor.get(), name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISSOCK(file.st_mode) || !is_believed(file.st_uid, directory)) {
        return os_error(ENXIO);
    }
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) return os_error(errno);
    if (is_among_the_last(socket.get())) return os_error(EMFILE);
    limit_connect(socket.get(), deadline);
    const int error = connect_to(socket.get(), directory, name);
    if (error == ECONNREFUSED) remove_dead(directory, name, file);
    // A signal ends the wait early.
    if (error == EAGAIN || error == EINTR) return os_error(ETIMEDOUT);
    ucred peer{};
    socklen_t size = sizeof peer;
    if (error != 0 || getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        !is_believed(peer.uid, directory) || (directory.is_for_group && peer.uid != file.st_uid) ||
        fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) {
        return os_error(ENXIO);
    }
    // Its constructor is private.
    return std::unique_ptr<ProviderConnection>(new ProviderConnection(std::move(socket), peer));
}

bool ProviderConnection::send(wire::Op op, wire::Bytes body, wire::Bytes data, size_t reply_size,
                              Deadline deadline) {
    const auto request = wire::encode_request(op, ++sequence_, body, data);
    length_max_ = wire::reply_length_limit(op);
    wire::Bytes rest(request);
    while (!rest.empty()) {
        const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            rest = rest.subspan(static_cast<size_t>(sent));
        } else if (errno == EAGAIN) {
            // Half a request cannot be taken back: if the provider stops here, the connection is
            // lost.
            const size_t sent_so_far = request.size() - rest.size();
            if (!wait_for(socket_.get(), POLLOUT, extended(deadline, sent_so_far))) return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    owes_ = true;
    sent_ = running_ = std::chrono::steady_clock::now();
    reply_size = std::min<size_t>(reply_size, wire::data_size_max);
    to_move_ = time_to_move(request.size() + reply_size);
    return true;
}

// With a deadline that has passed, the wait is over at once, unless much is to be moved.
Deadline ProviderConnection::end_of_wait(Deadline deadline) const {
    const Deadline begins = std::min(deadline, sent_ + patience) + to_move_;
    return extended(std::max(deadline, begins), in_size_);
}

// Looks at the process after a moment, and then again and again: it may be stopped at any time. The
// times begin with the request, so providers that were asked together share them.
bool ProviderConnection::wait_for_reply(Deadline deadline) {
    Deadline next = std::max(sent_ + moment, std::chrono::steady_clock::now());
    for (;;) {
        if (wait_for(socket_.get(), POLLIN, std::min(next, deadline))) return true;
        const Deadline now = std::chrono::steady_clock::now();
        if (next >= deadline) return false;
        if (!is_stopped(peer_.pid)) running_ = now;
        if (now - running_ >= stopped_max) return false;
        next = now + moment;
    }
}

Result<Reply> ProviderConnection::receive(Deadline deadline) {
    for (;;) {
        size_t wanted = sizeof(wire::ReplyHead);
        wire::Bytes bytes(in_.data(), in_size_);
        if (const auto head = wire::take<wire::ReplyHead>(bytes)) {
            if (head->length > length_max_ || head->sequence != sequence_) return os_error(EPROTO);
            wanted += head->length;
            if (in_size_ > wanted) return os_error(EPROTO);  // the reply to no request
            if (in_size_ == wanted) {
                in_size_ = 0;
                owes_ = false;
                return Reply{*head, {bytes.begin(), bytes.end()}, in_since_};
            }
        }
        switch (take_what_arrived(wanted)) {
            case Arrival::some:
                break;
            case Arrival::end:
                return os_error(ECONNRESET);
            case Arrival::none:
                if (!wait_for_reply(end_of_wait(deadline))) return os_error(ETIMEDOUT);
        }
    }
}

ProviderConnection::Arrival ProviderConnection::take_what_arrived(size_t wanted) {
    if (in_.size() < first_size) in_.resize(first_size);
    if (in_size_ == in_.size()) in_.resize(std::min(wanted, 2 * in_.size()));
    const ssize_t count = recv(socket_.get(), in_.data() + in_size_, in_.size() - in_size_, 0);
    if (count > 0) {
        if (in_size_ == 0) in_since_ = std::chrono::steady_clock::now();
        in_size_ += static_cast<size_t>(count);
        return Arrival::some;
    }
    if (count < 0 && errno == EINTR) return Arrival::some;
    return count < 0 && errno == EAGAIN ? Arrival::none : Arrival::end;
}

}  // namespace blkscope::kstat
