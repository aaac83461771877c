#include "tools/blkscope/control_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <filesystem>
#include <list>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/blocked_signals.hpp"
#include "base/log_line.hpp"
#include "base/run_directory.hpp"
#include "base/throw_errno.hpp"
#include "driver/nbd/server/log_limit.hpp"
#include "kstat/provider/run_directory.hpp"
#include "tools/program/json.hpp"
#include "tools/program/options.hpp"

namespace blkscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view control_suffix = ".ctl";
constexpr int socket_type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
// The pause after accept4(2) has found no descriptor.
constexpr std::chrono::milliseconds accept_pause{200};
constexpr std::chrono::milliseconds failure_pause{100};

std::string error_line(std::string_view why) {
    return program::Json({{"error", why}}).line() + "\n";
}

Descriptor unix_socket() {
    return Descriptor(::socket(AF_UNIX, socket_type, 0));
}

int connect_to(int directory, const std::string& name) {
    const Descriptor socket = unix_socket();
    const sockaddr_un address = socket_address(directory, name);
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// The pid in the name of a control socket, also of one with its temporary name; 0 for other names.
pid_t pid_in_control_name(std::string_view name) {
    if (name.starts_with('.') && name.ends_with(".new")) {
        name.remove_prefix(1);
        name.remove_suffix(4);
    }
    if (!name.ends_with(control_suffix)) return 0;
    name.remove_suffix(control_suffix.size());
    return std::max(program::decimal<pid_t>(name).value_or(0), 0);
}

// No other user can connect between bind(2) and chmod: the socket does not listen yet.
Descriptor listen_as(int directory, const std::string& name) {
    const std::string temporary = "." + name + ".new";
    unlinkat(directory, temporary.c_str(), 0);
    Descriptor socket = unix_socket();
    const sockaddr_un address = socket_address(directory, temporary);
    if (!socket.is_open() ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw_errno("control socket " + run_directory() + "/" + name);
    }
    if (fchmodat(directory, temporary.c_str(), S_IRUSR | S_IWUSR, 0) != 0 ||
        ::listen(socket.get(), static_cast<int>(control_clients_max)) != 0 ||
        renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
        const int error = errno;
        unlinkat(directory, temporary.c_str(), 0);
        errno = error;
        throw_errno("control socket " + run_directory() + "/" + name);
    }
    return socket;
}

}  // namespace

std::string control_socket_name(pid_t pid) {
    return std::to_string(pid) + std::string(control_suffix);
}

// A process that does not exist here may exist in another pid namespace, and then accepts.
void remove_dead_control_sockets() {
    std::error_code none;
    const Descriptor directory(::open(run_directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const auto& entry : std::filesystem::directory_iterator(run_directory(), none)) {
        const std::string name = entry.path().filename().string();
        const pid_t pid = pid_in_control_name(name);
        if (pid == 0 || kill(pid, 0) == 0 || errno != ESRCH) continue;
        if (connect_to(directory.get(), name) != 0 && errno == ECONNREFUSED) {
            unlinkat(directory.get(), name.c_str(), 0);
        }
    }
}

// The data of both threads. A call that the executor makes after the end finds `stopped`.
struct ControlSocket::Shared {
    Shared(nbd::Executor& its_executor, Answer its_answer)
        : executor(its_executor),
          answer(std::move(its_answer)),
          wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (!wake.is_open()) throw_errno("control socket: wake-ups");
    }

    void notify() const {
        const uint64_t one = 1;
        if (::write(wake.get(), &one, sizeof one) < 0) assert(errno == EAGAIN);  // awake already
    }

    nbd::Executor& executor;
    const Answer answer;  // called on the executor's thread
    const Descriptor wake;
    std::atomic<bool> stopped{false};
    std::atomic<bool> answer_lost{false};  // there was no memory for one
    std::mutex mutex;
    std::vector<std::pair<uint64_t, std::string>> answers;  // by the client's number
};

namespace {

struct ControlClient {
    uint64_t number = 0;
    Descriptor socket;
    nbd::Peer who = {};
    std::string in = {};        // received, and not yet asked
    std::string out = {};       // not yet sent
    bool asked = false;         // the control thread has a line of this client
    bool ends = false;          // the client is closed when `out` is empty
    Clock::time_point idle_at;  // the client is closed then, unless it has asked
};

}  // namespace

// The socket's thread.
class ControlSocket::Loop {
  public:
    Loop(std::shared_ptr<Shared> shared, Descriptor listener)
        : shared_(std::move(shared)), listener_(std::move(listener)) {}

    void run() {
        while (!shared_->stopped) guarded_turn();
    }

  private:
    void guarded_turn();
    void turn();
    [[nodiscard]] int milliseconds_to_wait() const;
    void accept();
    void welcome(Descriptor socket);
    void take_answers();
    void serve(ControlClient& client, short events);
    void receive(ControlClient& client);
    void ask(ControlClient& client);
    static void say(ControlClient& client, const std::string& line);
    static void send(ControlClient& client);

    std::shared_ptr<Shared> shared_;
    Descriptor listener_;
    std::list<ControlClient> clients_;
    uint64_t last_number_ = 0;
    Clock::time_point accept_at_{};
    nbd::LogLimit log_;
};

// Without memory for a turn, the clients are closed and the server goes on. The pause keeps the
// thread from spinning until there is memory again.
void ControlSocket::Loop::guarded_turn() {
    try {
        turn();
    } catch (const std::exception& error) {
        log_line("the control socket closes its clients: ", error.what());
        clients_.clear();
        std::this_thread::sleep_for(failure_pause);
    }
}

void ControlSocket::Loop::turn() {
    std::vector<pollfd> ready{{shared_->wake.get(), POLLIN, 0}, {listener_.get(), 0, 0}};
    if (Clock::now() >= accept_at_) ready[1].events = POLLIN;
    for (const ControlClient& client : clients_) {
        const bool waits = client.asked || client.ends || !client.out.empty();
        const short reads = waits ? 0 : POLLIN;
        const short writes = client.out.empty() ? 0 : POLLOUT;
        ready.push_back({client.socket.get(), static_cast<short>(reads | writes), 0});
    }
    const auto now =
        Clock::now();  // a request may come behind poll(), so its client is not idle then
    if (::poll(ready.data(), ready.size(), milliseconds_to_wait()) < 0) return;  // EINTR
    uint64_t count = 0;
    if (::read(shared_->wake.get(), &count, sizeof count) < 0) assert(errno == EAGAIN);
    size_t at = 2;
    for (ControlClient& client : clients_) serve(client, ready.at(at++).revents);
    if (shared_->answer_lost.exchange(false)) throw std::bad_alloc();
    take_answers();
    clients_.remove_if([&](const ControlClient& client) {
        const bool done = client.ends && client.out.empty();
        return done || !client.socket.is_open() || (!client.asked && now >= client.idle_at);
    });
    if (ready[1].revents != 0) accept();
}

int ControlSocket::Loop::milliseconds_to_wait() const {
    std::optional<Clock::time_point> until;
    const auto consider = [&](Clock::time_point moment) {
        if (!until || moment < *until) until = moment;
    };
    const auto now = Clock::now();
    if (now < accept_at_) consider(accept_at_);
    for (const ControlClient& client : clients_) {
        if (!client.asked) consider(client.idle_at);
    }
    if (!until) return -1;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*until - now);
    return static_cast<int>(std::max<int64_t>(wait.count(), 0));
}

void ControlSocket::Loop::accept() {
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open()) return welcome(std::move(socket));
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        accept_at_ = Clock::now() + accept_pause;
    }
}

void ControlSocket::Loop::welcome(Descriptor socket) {
    ControlClient client{.number = ++last_number_,
                         .socket = std::move(socket),
                         .idle_at = Clock::now() + control_idle_max};
    client.who = nbd::Peer::of(client.socket.get());
    const bool allowed = client.who.kind == nbd::Peer::Kind::process &&
                         (client.who.uid == 0 || client.who.uid == geteuid());
    if (!allowed) {
        log_.print(client.who.text() + " may not change this server");
        say(client, error_line("only root and the server's own user may change it"));
    } else if (clients_.size() == control_clients_max) {
        log_.print("the control socket has too many clients");
        say(client, error_line("the server has too many requests already; try again"));
    } else {
        clients_.push_back(std::move(client));
    }
}

void ControlSocket::Loop::take_answers() {
    std::vector<std::pair<uint64_t, std::string>> answers;
    {
        const std::lock_guard lock(shared_->mutex);
        answers.swap(shared_->answers);
    }
    for (const auto& [number, line] : answers) {
        const auto found = std::ranges::find(clients_, number, &ControlClient::number);
        if (found == clients_.end()) continue;  // closed meanwhile
        found->asked = false;
        found->idle_at = Clock::now() + control_idle_max;
        say(*found, line + "\n");
        ask(*found);
    }
}

void ControlSocket::Loop::serve(ControlClient& client, short events) {
    if ((events & POLLIN) != 0) {
        receive(client);
    } else if ((events & POLLOUT) != 0) {
        send(client);
        ask(client);
    } else if ((events & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
        client.socket = Descriptor();
    }
}

void ControlSocket::Loop::receive(ControlClient& client) {
    std::array<char, 4096> bytes;
    const ssize_t count = ::recv(client.socket.get(), bytes.data(), bytes.size(), 0);
    if (count < 0) {
        if (errno != EAGAIN && errno != EINTR) client.socket = Descriptor();
        return;
    }
    if (count == 0) {
        client.ends = true;
        return;
    }
    client.in.append(bytes.data(), static_cast<size_t>(count));
    ask(client);
}

// Hands the first complete line to the control thread. The answer to an earlier line comes first.
void ControlSocket::Loop::ask(ControlClient& client) {
    if (client.asked || client.ends || !client.out.empty() || !client.socket.is_open()) return;
    const size_t end = client.in.find('\n');
    if (std::min(end, client.in.size()) >= control_line_bytes_max) {
        client.in.clear();
        client.ends = true;
        return say(client, error_line("a line has 64 KiB at most"));
    }
    if (end == std::string::npos) return;
    client.asked = true;
    std::string line = client.in.substr(0, end);
    client.in.erase(0, end + 1);
    const auto call = [shared = shared_, who = client.who, number = client.number,
                       asked = std::move(line)] {
        if (shared->stopped) return;
        try {
            std::string answer = shared->answer(who, asked);
            const std::lock_guard lock(shared->mutex);
            shared->answers.emplace_back(number, std::move(answer));
        } catch (const std::exception&) {
            shared->answer_lost = true;
        }
        shared->notify();
    };
    shared_->executor.post(call);
}

void ControlSocket::Loop::say(ControlClient& client, const std::string& line) {
    client.out += line;
    send(client);
}

void ControlSocket::Loop::send(ControlClient& client) {
    const ssize_t sent = ::send(client.socket.get(), client.out.data(), client.out.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) client.out.erase(0, static_cast<size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) client.socket = Descriptor();
}

ControlSocket::ControlSocket(nbd::Executor& executor, Answer answer)
    : directory_(kstat::open_run_directory()),
      name_(control_socket_name(getpid())),
      shared_(std::make_shared<Shared>(executor, std::move(answer))) {
    auto loop = std::make_shared<Loop>(shared_, listen_as(directory_.get(), name_));
    // The program's signals are for the control thread.
    const BlockedSignals blocked(all_signals());
    try {
        thread_ = std::thread([loop] { loop->run(); });
    } catch (const std::system_error& error) {
        unlinkat(directory_.get(), name_.c_str(), 0);
        throw_errno("start the thread of the control socket", error.code().value());
    }
}

ControlSocket::~ControlSocket() {
    unlinkat(directory_.get(), name_.c_str(), 0);
    shared_->stopped = true;
    shared_->notify();
    thread_.join();
}

}  // namespace blkscope
