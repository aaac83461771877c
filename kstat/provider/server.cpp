#include "kstat/provider/server.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <map>
#include <vector>

#include "base/run_directory.hpp"
#include "base/throw_errno.hpp"
#include "kstat/provider/access.hpp"
#include "kstat/provider/reader_connection.hpp"
#include "kstat/provider/run_directory.hpp"

namespace blkscope::kstat {
namespace {

constexpr auto look_around_every = std::chrono::seconds(2);

uint64_t random_identity() {
    uint64_t identity = 0;
    if (getrandom(&identity, sizeof identity, 0) != sizeof identity)
        throw_errno("drawing a random number");
    return identity;
}

int try_to_connect(int directory, const std::string& name) {
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = socket_address(directory, name);
    // A full backlog (EAGAIN) belongs to a running process.
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
               ? 0
               : errno;
}

std::string temporary_name(pid_t pid) {
    return "." + std::to_string(pid) + ".new";
}

// The process that created the file ended between bind() and rename().
bool is_abandoned_temporary(const std::string& name) {
    const std::string_view suffix = ".new";
    if (name.size() <= suffix.size() + 1 || name.front() != '.' || !name.ends_with(suffix)) {
        return false;
    }
    const auto pid = pid_of_socket(name.substr(1, name.size() - 1 - suffix.size()) + ".sock");
    return pid && kill(*pid, 0) != 0 && errno == ESRCH;
}

std::vector<std::string> names_in(int directory) {
    std::vector<std::string> names;
    Descriptor again(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (again.get() < 0) return names;
    DIR* const list = fdopendir(again.get());
    if (list == nullptr) return names;
    static_cast<void>(again.release());  // the list owns the descriptor only from here
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread reads this list
    while (const dirent* entry = readdir(list)) names.emplace_back(entry->d_name);
    closedir(list);
    return names;
}

}  // namespace

Server::Server(boost::asio::io_context& io)
    : directory_(open_run_directory()),
      owner_(getpid()),
      name_(socket_name(owner_)),
      identity_(random_identity()),
      acceptor_(io),
      timer_(io) {
    sweep();
    bind();
}

Server::~Server() {
    remove_socket_file();
}

// The socket first listens under another name. Another provider's sweep would remove a socket that
// is bound but does not listen yet. The rename also replaces the socket of an earlier process with
// this pid.
void Server::bind() {
    if (try_to_connect(directory_.get(), name_) == 0) {
        errno = EADDRINUSE;  // another pid namespace shares the directory
        throw_errno("publishing kstats as " + run_directory() + "/" + name_);
    }
    const std::string temporary = temporary_name(owner_);
    unlinkat(directory_.get(), temporary.c_str(), 0);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = socket_address(directory_.get(), temporary);
    if (socket.get() < 0 ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw_errno("making a socket in the run directory " + run_directory());
    }
    // Every process that may enter the directory may read.
    if (fchmodat(directory_.get(), temporary.c_str(), 0666, 0) != 0 ||
        ::listen(socket.get(), waiting_max) != 0 ||
        renameat(directory_.get(), temporary.c_str(), directory_.get(), name_.c_str()) != 0) {
        const int error = errno;
        unlinkat(directory_.get(), temporary.c_str(), 0);
        errno = error;
        throw_errno("publishing kstats as " + run_directory() + "/" + name_);
    }
    bound_ = true;
    acceptor_.assign(Protocol(), socket.release());
    not_inherited_ = std::make_unique<NotInherited>(acceptor_.native_handle());
}

void Server::sweep() {
    for (const std::string& name : names_in(directory_.get())) {
        const bool dead = pid_of_socket(name)
                              ? try_to_connect(directory_.get(), name) == ECONNREFUSED
                              : is_abandoned_temporary(name);
        if (dead) unlinkat(directory_.get(), name.c_str(), 0);
    }
}

void Server::start() {
    accept();
}

void Server::close() {
    remove_socket_file();
    boost::system::error_code ignored;
    not_inherited_.reset();
    acceptor_.close(ignored);
    timer_.cancel();
    while (!connections_.empty()) ended(*connections_.front());
}

// A child of fork() does not remove the file: its parent still serves.
void Server::remove_socket_file() {
    if (bound_ && owner_ == getpid()) unlinkat(directory_.get(), name_.c_str(), 0);
    bound_ = false;
}

void Server::accept() {
    accepting_ = true;
    acceptor_.async_wait(Protocol::acceptor::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                             self->accepting_ = false;
                             if (!self->acceptor_.is_open()) return;
                             // Without a descriptor, an immediate retry would spin.
                             if (error || !self->accept_next()) return self->look_around_later();
                             self->accept();
                         });
}

// False: no descriptor is left. Called only while a connection waits: without a descriptor,
// accept4(2) fails even if none waits.
bool Server::accept_next() {
    const auto accepted = [this] {
        return ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    };
    Descriptor number(accepted());
    if (!number.is_open() && (errno == EMFILE || errno == ENFILE) && !connections_.empty()) {
        end_one_for(geteuid());
        number = Descriptor(accepted());
    }
    if (!number.is_open()) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    boost::system::error_code error;
    Protocol::socket socket(acceptor_.get_executor());
    socket.assign(Protocol(), number.get(), error);
    if (error) return false;
    static_cast<void>(number.release());
    welcome(std::move(socket));
    return true;
}

void Server::welcome(Protocol::socket socket) {
    const Peer peer = peer_of(socket.native_handle());
    if (connections_.size() == connections_max) end_one_for(peer.uid);
    const Access& access = Access::of_this_process();
    const Session session{identity_,
                          access.may_write(peer),
                          false,
                          {access.sees_private(peer), access.zone_of(peer)}};
    connections_.push_back(
        std::make_shared<ReaderConnection>(std::move(socket), weak_from_this(), session, peer.uid));
    connections_.back()->place = std::prev(connections_.end());
    connections_.back()->start();
    look_around_later();
}

void Server::end_one_for(uid_t newcomer) {
    std::map<uid_t, size_t> counts{{newcomer, 1}};
    size_t most = 0;
    for (const auto& one : connections_) most = std::max(most, ++counts[one->user()]);
    const auto chosen = std::ranges::find_if(
        connections_, [&](const auto& one) { return counts[one->user()] == most; });
    assert(chosen != connections_.end());
    ended(**chosen);
}

void Server::was_used(ReaderConnection& connection) {
    if (connection.place == connections_.end()) return;
    connections_.splice(connections_.end(), connections_, connection.place);
}

void Server::ended(ReaderConnection& connection) {
    if (connection.place == connections_.end()) return;
    const auto kept = *connection.place;
    connections_.erase(connection.place);
    kept->place = connections_.end();
    kept->close();
}

// One timer for all connections, so that a request costs none.
void Server::look_around_later() {
    if (timer_runs_) return;
    timer_runs_ = true;
    timer_.expires_after(look_around_every);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        self->timer_runs_ = false;
        if (!error) self->look_around();
    });
}

void Server::look_around() {
    const auto now = std::chrono::steady_clock::now();
    for (auto at = connections_.begin(); at != connections_.end();) {
        ReaderConnection& connection = **at++;
        if (connection.is_stuck(now, patience)) ended(connection);
    }
    if (!accepting_) accept();
    if (!connections_.empty()) look_around_later();
}

}  // namespace blkscope::kstat
