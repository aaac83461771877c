#include "tools/blkscope/serve.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/blocked_signals.hpp"
#include "base/descriptor.hpp"
#include "base/descriptor_limit.hpp"
#include "base/log_line.hpp"
#include "base/throw_errno.hpp"
#include "driver/nbd/server/asio_executor.hpp"
#include "driver/nbd/server/descriptors.hpp"
#include "kstat/provider/publish.hpp"
#include "tools/blkscope/activation.hpp"
#include "tools/blkscope/attachment.hpp"
#include "tools/blkscope/backing_schemes.hpp"
#include "tools/blkscope/backing_warnings.hpp"
#include "tools/blkscope/control_answer.hpp"
#include "tools/blkscope/control_socket.hpp"
#include "tools/blkscope/failure.hpp"
#include "tools/blkscope/memory_room.hpp"
#include "tools/blkscope/notify.hpp"
#include "tools/blkscope/opening.hpp"
#include "tools/blkscope/run_directory.hpp"
#include "tools/blkscope/serve_config.hpp"
#include "tools/blkscope/service.hpp"
#include "tools/program/terminal_end.hpp"

namespace blkscope {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// The time for the last replies and the last flush. A service manager kills a server after 90 s.
constexpr std::chrono::seconds stop_time_max{60};

// Sends what is printed to standard error. The program that handed us sockets may use the same
// standard output: nbdcopy copies a device's bytes to it.
void print_to_standard_error() {
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) throw_errno("serve: standard error");
}

// The socket at standard input and output, moved to another descriptor. Printed text would else
// become part of the protocol.
int take_stdio() {
    int type = 0;
    socklen_t bytes = sizeof type;
    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0 || type != SOCK_STREAM) {
        throw std::invalid_argument(
            "serve --stdio: standard input is not a stream socket; start it as inetd does, or "
            "with libnbd's connect_command");
    }
    const int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (socket < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0) throw_errno("serve --stdio");
    print_to_standard_error();
    close(null);
    return socket;
}

Door find_door(const ServeOptions& options) {
    Door door{.sockets = take_activated_sockets(),
              .preferred_instance = nbd_index(options.attach.device)};
    if (!door.sockets.empty()) print_to_standard_error();
    if (!options.stdio) return door;
    if (!door.sockets.empty()) {
        throw std::invalid_argument(
            "serve: there are sockets from LISTEN_FDS and --stdio; leave one out");
    }
    door.client = take_stdio();
    return door;
}

// The kernel's client would need a certificate, and the server has none to give.
void require_attachable(const ServeOptions& options) {
    if (options.attach.device.empty() || options.config.tls.mode != nbd::TlsMode::require) return;
    throw std::invalid_argument(
        "--attach: the kernel's client has no TLS of its own; use --tls on, or attach with "
        "'blkscope attach nbds://...'");
}

ServiceConfig find_config(const ServeOptions& options) {
    if (options.config_path.empty()) return config_of(options);
    ServiceConfig config = read_config(options.config_path);
    for (ExportConfig& exp : config.exports) exp.upstream.wait |= options.exp.upstream.wait;
    return config;
}

// Warns the user early if there are too few descriptors for the largest allowed number of clients.
void warn_of_descriptors(const Service& service) {
    const std::string shortage = nbd::descriptor_shortage(
        descriptor_limit(), nbd::open_descriptors(), service.server().descriptors_to_come());
    if (!shortage.empty()) log_line(shortage);
}

void warn_of_backings(const Service& service) {
    for (const std::string& line : backing_warnings(service.config().exports, memory_room())) {
        log_line(line);
    }
}

// To open a named pipe waits for its writer. The start may wait; clients of a server must not.
void require_regular(const std::string& file) {
    std::error_code ignored;  // reading the file tells it
    const auto type = std::filesystem::status(file, ignored).type();
    using Type = std::filesystem::file_type;
    if (type != Type::fifo && type != Type::character) return;
    throw std::invalid_argument(file + ": not a regular file");
}

// Applies the file, or the command line, again at each SIGHUP, until the process ends. While the
// server stops, SIGHUP has no effect, but must not end the process. A server without a file ends
// with its terminal, whose end is a SIGHUP, too.
class Reloader {
  public:
    Reloader(asio::io_context& io, Service& service, const ServeOptions& options)
        : io_(io), service_(service), options_(options), signals_(io) {
        if (options_.config_path.empty() && program::ignores_hangups()) return;
        signals_.add(SIGHUP);
        wait();
    }

    /// Drops a reload under way. Later signals have no effect.
    void end() {
        opening_.reset();
        service_.drop_change();
    }

  private:
    void wait() {
        signals_.async_wait([this](error_code error, int) {
            if (error) return;
            const bool hung_up = had_terminal_ && !program::has_terminal();
            if (options_.config_path.empty() && hung_up) return io_.stop();
            wait();
            if (opening_) {
                again_ = true;
            } else {
                reload();
            }
        });
    }

    // A file's system or another machine may answer late, and clients, statistics and a stop must not wait for it.
    void reload() {
        notify_manager("RELOADING=1");
        try {
            require_regular(options_.config_path);
            const ServiceConfig config = find_config(options_);
            require_regular(config.tls.psk_file);
            opening_.emplace(
                io_, service_.openings(config),
                [this, config](OpenedBackings opened, const std::exception_ptr& failure) {
                    change(config, std::move(opened), failure);
                });
        } catch (const std::exception&) {
            end_reload({}, std::current_exception());
        }
    }

    void change(const ServiceConfig& config, OpenedBackings opened,
                const std::exception_ptr& failed) {
        const auto done = [this](const ServiceChange& change, const std::exception_ptr& why) {
            end_reload(change, why);
        };
        try {
            if (failed) std::rethrow_exception(failed);
            service_.change(config, std::move(opened), done);
        } catch (const std::exception&) {
            done({}, std::current_exception());
        }
    }

    void tell(const ServiceChange& change, const std::exception_ptr& failed) {
        try {
            if (failed) std::rethrow_exception(failed);
            std::vector<std::string> come = change.added;
            come.insert(come.end(), change.replaced.begin(), change.replaced.end());
            std::string lines;
            if (!come.empty()) {
                warn_of_backings(service_);
                lines = service_.announcement(come);
            }
            warn_of_descriptors(service_);
            lines += summary(change);
            // The reader of the first lines may have stopped: new clients and signals must not wait for it.
            offer(STDOUT_FILENO, lines, reader_pause_max);
        } catch (const std::exception& failure) {
            refuse(failure);
        }
    }

    static void refuse(const std::exception& failure) {
        log_line("reload: ", failure_text(failure), "; everything stays as it was");
    }

    void end_reload(const ServiceChange& change, const std::exception_ptr& failed) {
        tell(change, failed);
        opening_.reset();
        notify_manager("READY=1");
        if (std::exchange(again_, false)) reload();
    }

    [[nodiscard]] std::string summary(const ServiceChange& change) const {
        const std::string source =
            options_.config_path.empty() ? "the command line" : options_.config_path;
        std::string line =
            fmt::format("reloaded {}: {} added, {} replaced, {} removed", source,
                        change.added.size(), change.replaced.size(), change.removed.size());
        if (!change.adapted.empty()) {
            line += fmt::format(", {} changed in place", change.adapted.size());
        }
        return line + "\n";
    }

    asio::io_context& io_;
    Service& service_;
    const ServeOptions& options_;
    asio::signal_set signals_;
    std::optional<Opening> opening_;  // of a reload under way
    bool again_ = false;              // another signal has come meanwhile, or several
    bool had_terminal_ = program::has_terminal();
};

// Ends the process while a backing does not answer: its memory and its thread cannot be freed.
[[noreturn]] void give_up() {
    log_line(
        fmt::format("stop: a backing has not answered for {} s; what clients wrote "
                    "and did not flush may be lost",
                    stop_time_max.count()));
    std::_Exit(1);
}

// Tells the user and the service manager that all is ready, the attached device included.
void tell_ready(const Service& service, const std::string& attached_device) {
    std::string lines = service.announcement();
    if (!attached_device.empty()) lines += attached_device + " attached\n";
    std::fputs(lines.c_str(), stdout);
    std::fflush(stdout);
    notify_manager("READY=1");
}

void run(asio::io_context& io, Service& service, const ServeOptions& options,
         asio::signal_set& signals) {
    const auto ready = [&] { tell_ready(service, options.attach.device); };
    std::unique_ptr<Attachment> attachment;
    if (options.attach.device.empty()) {
        ready();
    } else {
        AttachOptions attach = options.attach;
        attach.export_bytes = service.server().device(0).size_bytes();
        attachment =
            std::make_unique<Attachment>(io, service.server().uris(0).front(), attach, ready);
    }
    signals.async_wait([&](error_code, int) { io.stop(); });
    io.run();
    signals.clear();  // a second Ctrl-C ends the process at once
    notify_manager("STOPPING=1");
    if (attachment) attachment->check();
}

bool asks_another_server(const ServiceConfig& config) {
    return std::ranges::any_of(config.exports, [](const ExportConfig& exp) {
        return backing_kind(exp.backing, backing_schemes()).starts_with("nbd");
    });
}

void end_by(asio::signal_set& signals) {
    signals.add(SIGINT);
    signals.add(SIGTERM);
}

}  // namespace

void serve(const ServeOptions& options) {
    // SIGHUP is pending while the server starts: a file that changes during the start is read again.
    // Threads created meanwhile never get the signal, which then comes to this one.
    std::optional<BlockedSignals> hangups_later;
    if (!options.config_path.empty()) hangups_later.emplace(signal_set({SIGHUP}));
    require_attachable(options);
    const Door door = find_door(options);
    ServiceConfig config = find_config(options);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // such a write fails with EFBIG, and ends one request
    asio::io_context io;
    asio::signal_set signals(io);
    // Before any thread is created: signals must have their actions before one can come. But while the start
    // waits for another server, which may be long, a signal ends the process at once.
    const bool asks = asks_another_server(config);
    if (!asks) end_by(signals);
    in_run_directory([&] { kstat::publish_on(io); });
    nbd::AsioExecutor executor(io);
    Service service(executor, std::move(config), door);
    if (asks) end_by(signals);
    warn_of_backings(service);
    nbd::Server& server = service.server();
    Reloader reloader(io, service, options);
    hangups_later.reset();
    if (door.client) server.when_idle([&] { io.stop(); });
    server.start();
    if (door.client) server.serve_client(*door.client);
    warn_of_descriptors(service);
    {
        const auto control = in_run_directory([&] {
            return std::make_unique<ControlSocket>(
                executor, [&server](const nbd::Peer& who, std::string_view line) {
                    return answer_control(server, who, line);
                });
        });
        run(io, service, options, signals);
    }
    reloader.end();
    if (!server.stop(stop_time_max)) give_up();
    if (!server.all_flushed()) {
        throw std::runtime_error("serve: not all that was written could be flushed; see above");
    }
}

}  // namespace blkscope
