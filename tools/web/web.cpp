#include "tools/web/web.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/blocked_signals.hpp"
#include "base/descriptor.hpp"
#include "base/log_line.hpp"
#include "base/throw_errno.hpp"
#include "tools/program/no_providers.hpp"
#include "tools/program/print.hpp"
#include "tools/program/terminal_end.hpp"
#include "tools/web/access.hpp"
#include "tools/web/pages.hpp"
#include "tools/web/server.hpp"

namespace blkscope::web {
namespace {

constexpr int backlog = 128;

[[noreturn]] void fail_to_listen(const std::string& where) {
    throw_errno("web: cannot listen on " + where);
}

bool is_socket(const char* path) {
    struct stat info {};
    return ::lstat(path, &info) == 0 && S_ISSOCK(info.st_mode);
}

// The file of a socket that no process listens on is of an earlier server. connect(2) refuses any other file
// in the same way.
void remove_dead_socket(const sockaddr_un& address) {
    if (!is_socket(address.sun_path)) return;
    const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(probe.get(), at, sizeof address) != 0 && errno == ECONNREFUSED) {
        ::unlink(address.sun_path);
    }
}

Descriptor listen_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    remove_dead_socket(address);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open() ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket.get(), backlog) != 0) {
        if (errno == EADDRINUSE && !is_socket(path.c_str())) errno = EEXIST;
        fail_to_listen("unix:" + path);
    }
    return socket;
}

// The device and the number of the file; zeroes if there is none. The number is no other file's while it is open.
std::pair<dev_t, ino_t> file_at(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return {};
    return {info.st_dev, info.st_ino};
}

// A TCP socket, bound to the address. `port` is set to the port that the kernel chose.
Descriptor listen_tcp(const ListenAddress& where, uint16_t& port) {
    const std::string shown = fmt::format("{}:{}", where.host, where.port);
    sockaddr_storage storage{};
    auto* const address = reinterpret_cast<sockaddr*>(&storage);
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    const int family = where.is_ipv6 ? AF_INET6 : AF_INET;
    socklen_t length = where.is_ipv6 ? sizeof *v6 : sizeof *v4;
    storage.ss_family = static_cast<sa_family_t>(family);
    void* const bytes = where.is_ipv6 ? static_cast<void*>(&v6->sin6_addr) : &v4->sin_addr;
    inet_pton(family, where.host.c_str(), bytes);
    (where.is_ipv6 ? v6->sin6_port : v4->sin_port) = htons(where.port);
    Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (!socket.is_open() ||
        setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(socket.get(), address, length) != 0 || ::listen(socket.get(), backlog) != 0 ||
        getsockname(socket.get(), address, &length) != 0) {
        fail_to_listen(shown);
    }
    port = ntohs(where.is_ipv6 ? v6->sin6_port : v4->sin_port);
    return socket;
}

// The pages behind the checks of access.
class Site : public Handler {
  public:
    Site(Access access, bool clients_named) : access_(std::move(access)), pages_(clients_named) {
        pages_.open();
    }

    /// From the next request on.
    void use(Access access) { access_ = std::move(access); }

    Response respond(const Request& request) override {
        const int status = access_.check(request);
        if (status != 200) return text_response(status, access_.refusal(request));
        return pages_.respond(request);
    }

    Body event() override { return pages_.event(); }
    void end_turn() override { pages_.end_turn(); }

  private:
    Access access_;
    Pages pages_;
};

std::shared_ptr<const nbd::TlsContext> tls_of(const Options& options) {
    return nbd::TlsContext::open(
        {.mode = options.certificates.empty() ? nbd::TlsMode::off : nbd::TlsMode::require,
         .certificates = options.certificates,
         .verify_peer = options.verify_peer});
}

Access access_of(const Options& options) {
    std::optional<std::string> token;
    if (!options.token_file.empty()) token = read_token(options.token_file);
    return {options.hosts, std::move(token)};
}

// The signals of the process, in a descriptor. SIGHUP reads the files of the command line again, unless the
// terminal has gone that the server was started on, which ends it.
class Signals {
  public:
    explicit Signals(const Options& options) : options_(options) {
        sigset_t signals = signal_set({SIGINT, SIGTERM, SIGHUP});
        if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
            throw_errno("web: cannot block signals", error);
        }
        descriptor_ = Descriptor(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!descriptor_.is_open()) throw_errno("web: cannot wait for signals");
    }

    [[nodiscard]] int get() const { return descriptor_.get(); }

    /// Obeys the signals that have come. False: one of them ends the server.
    [[nodiscard]] bool obey(Server& server, Site& site) {
        signalfd_siginfo signal{};
        while (::read(descriptor_.get(), &signal, sizeof signal) == sizeof signal) {
            const bool has_hung_up = had_terminal_ && !program::has_terminal();
            if (signal.ssi_signo != SIGHUP) return false;
            if (has_hung_up && !ignores_hangups_) return false;
            if (!has_hung_up) reload(server, site);
        }
        return true;
    }

  private:
    void reload(Server& server, Site& site) const try {
        auto tls = tls_of(options_);
        site.use(access_of(options_));
        server.use(std::move(tls));
        log_line("web: reloaded the files of the command line");
    } catch (const std::exception& failure) {
        log_line("web: reload: ", failure.what(), "; everything stays as it was");
    }

    const Options& options_;
    const bool ignores_hangups_ = program::ignores_hangups();
    const bool had_terminal_ = program::has_terminal();
    Descriptor descriptor_;
};

std::string url_of(const ListenAddress& where, uint16_t port, bool has_tls) {
    if (!where.unix_path.empty()) return "unix:" + where.unix_path;
    const std::string host = where.is_ipv6 ? "[" + where.host + "]" : where.host;
    return fmt::format("http{}://{}:{}/", has_tls ? "s" : "", host, port);
}

}  // namespace

void run(const Options& options) {
    const ListenAddress where = parse_listen_address(options.listen);
    if (!where.is_loopback() && options.token_file.empty() && !options.verify_peer &&
        !options.is_public) {
        throw std::invalid_argument(
            "web: beyond this machine give --tls-certs with --tls-verify-peer, or --token-file, or "
            "--public if every client may read");
    }
    const auto tls = tls_of(options);
    Site site(access_of(options), options.clients_named);
    Signals signals(options);
    uint16_t port = where.port;
    const bool is_unix = !where.unix_path.empty();
    Server server(is_unix ? listen_unix(where.unix_path) : listen_tcp(where, port), site, {}, tls);
    const auto socket_file = file_at(where.unix_path);
    program::print(url_of(where, port, tls != nullptr) + "\n", "web: cannot write");
    program::complain_of_no_providers("blkscope: web", true);
    server.run(signals.get(), [&] { return signals.obey(server, site); });
    if (is_unix && file_at(where.unix_path) == socket_file) ::unlink(where.unix_path.c_str());
}

}  // namespace blkscope::web
