#include "blkscope/serve.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <kstat/instance.hpp>
#include <kstat/publish.hpp>
#include <kstat/wire/run_directory.hpp>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "blockdev/backing.hpp"
#include "driver/attach/attach.hpp"
#include "driver/nbd/server.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope {
namespace {

namespace asio = boost::asio;

AttachOptions attach_options(const ServeOptions& options) {
    return {
        .device = options.attach_device,
        .connections = options.attach_connections,
        .timeout_seconds = options.attach_timeout_seconds,
    };
}

// /dev/nbdX for as long as the server runs. nbd-client needs a server that answers, so it runs
// beside the control thread; what came of it is told there.
class Attachment {
  public:
    Attachment(asio::io_context& io, const nbd::Uri& uri, const ServeOptions& options)
        : io_(io), device_(options.attach_device) {
        if (device_.empty()) return;
        done_ = false;
        thread_ = std::thread([this, uri, to = attach_options(options)] {
            try {
                attach(uri, to);
                attached_by_ = attached_by(device_);
            } catch (const std::exception&) {
                failure_ = std::current_exception();
            }
            asio::post(io_, [this] { finished(); });
        });
    }

    // Not before nbd-client has ended, and it ends only if its handshake is answered.
    ~Attachment() {
        io_.restart();
        while (!done_) io_.run_one();
        if (thread_.joinable()) thread_.join();
        // It may have been detached by hand meanwhile, or attached to something else.
        if (attached_by_ == 0 || attached_by(device_) != attached_by_) return;
        try {
            detach(device_);
        } catch (const std::exception& error) {
            fmt::print(stderr, "blkscope: {}\n", error.what());
        }
    }

    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

    /// Throws why it could not be attached, if it could not.
    void check() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    void finished() {
        done_ = true;
        if (failure_) return io_.stop();
        fmt::print("{} attached\n", device_);
        std::fflush(stdout);
    }

    asio::io_context& io_;
    std::string device_;
    std::thread thread_;
    int attached_by_ = 0;  // 0 until it is
    bool done_ = true;
    std::exception_ptr failure_;
};

void require_distinct_names(const std::vector<std::string>& backings) {
    std::vector<std::string> names;
    for (const std::string& text : backings) names.push_back(parse_export_spec(text).name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return;
    throw std::invalid_argument(
        fmt::format("serve: two exports are named '{}'; name one, as in other=BACKING", *twice));
}

// What fails there is not the user's path but a directory that nobody named.
template <class Action>
auto in_run_directory(Action action) try {
    return action();
} catch (const std::system_error& error) {
    throw std::runtime_error(
        fmt::format("{}; set KSTAT_DIR to a directory that you may write", error.what()));
}

std::string default_socket_path() {
    return fmt::format("{}/blkscope-{}.nbd", kstat::run_directory(), getpid());
}

void add_exports(nbd::Server& server, const ServeOptions& options) {
    const int wanted = nbd_index(options.attach_device);
    for (const std::string& text : options.backings) {
        ExportSpec spec = parse_export_spec(text);
        const BackingOptions backing{.direct = options.direct, .read_only = options.read_only};
        server.add({
            .name = std::move(spec.name),
            .description = options.description,
            .backing = open_backing(spec.backing, backing),
            .instance = in_run_directory(
                [&] { return kstat::claim_instance("nbd", server.exports() == 0 ? wanted : -1); }),
            .queue_depth = options.queue_depth,
            .read_only = options.read_only,
        });
    }
}

void listen(nbd::Server& server, const ServeOptions& options) {
    if (options.port) server.listen_tcp(options.bind_address, *options.port);
    if (!options.socket_path.empty()) {
        server.listen_unix(std::filesystem::absolute(options.socket_path).string());
    } else if (!options.port) {
        server.listen_unix(default_socket_path());
    }
}

void announce(const nbd::Server& server) {
    for (size_t i = 0; i < server.exports(); ++i) {
        for (const nbd::Uri& uri : server.uris(i)) {
            fmt::print("{} {}\n", server.device_name(i), uri.text());
        }
    }
    std::fflush(stdout);
}

}  // namespace

ExportSpec parse_export_spec(const std::string& text) {
    const size_t equals = text.find('=');
    // An '=' behind a '/' belongs to a path.
    if (equals != std::string::npos && text.find('/') > equals) {
        return {text.substr(0, equals), text.substr(equals + 1)};
    }
    if (text.starts_with("memory:") || text.starts_with("null:")) {
        return {text.substr(0, text.find(':')), text};
    }
    return {std::filesystem::path(text).filename().string(), text};
}

void serve(const ServeOptions& options) {
    require_distinct_names(options.backings);
    std::signal(SIGPIPE, SIG_IGN);
    asio::io_context io;
    // Before any thread is made: what a signal does must be settled when it can come.
    asio::signal_set signals(io, SIGINT, SIGTERM);
    in_run_directory([&] { kstat::publish_on(io); });
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    nbd::Server server(
        io, {.workers = std::min<unsigned>(cores, static_cast<unsigned>(options.backings.size())),
             .handshake_time = std::chrono::seconds(options.handshake_seconds),
             .connections_max = options.connections_max,
             .list = options.list});
    add_exports(server, options);
    listen(server, options);
    server.start();
    announce(server);
    Attachment attachment(io, server.uris(0).front(), options);
    signals.async_wait([&](boost::system::error_code, int) { io.stop(); });
    io.run();
    signals.clear();  // a second Ctrl-C need not wait for the orderly end
    attachment.check();
}

}  // namespace blkscope
