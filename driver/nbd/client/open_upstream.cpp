#include "driver/nbd/client/open_upstream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/log_line.hpp"
#include "driver/nbd/client/upstream_backing.hpp"
#include "driver/nbd/client/upstream_terms.hpp"

namespace blkscope::nbd {
namespace {

constexpr std::chrono::milliseconds first_pause{500};

std::vector<RemoteConnection> connect_first(const Uri& uri, const UpstreamOptions& options) {
    const auto limit = std::min(options.timeout, upstream_dial_time_max);
    bool said = false;
    for (;;) {
        try {
            return connect_upstream(uri, options.connections, limit, Fewer::refused);
        } catch (const std::runtime_error& error) {
            if (!options.wait) throw;
            if (!std::exchange(said, true)) log_line(error.what(), "; waiting for it");
        }
        std::this_thread::sleep_for(first_pause);
    }
}

// Each connection must have what clients are told of the first.
void check_usable(const Uri& uri, const std::vector<RemoteConnection>& connections,
                  unsigned wanted) {
    const RemoteExport& first = connections.front().remote;
    for (const RemoteConnection& connection : connections) {
        std::string why = unusable(first);
        if (why.empty()) why = shortcoming(first, connection.remote);
        if (!why.empty()) throw std::runtime_error(fmt::format("{}: {}", uri.text(), why));
    }
    if (connections.size() == wanted) return;
    log_line(fmt::format("{}: one connection instead of {}, because the server allows no more",
                         uri.text(), wanted));
}

}  // namespace

std::unique_ptr<Backing> open_upstream(const std::string& spec, const BackingOptions& options) {
    const Uri uri = parse_uri(spec);
    const unsigned count = options.upstream.connections;
    std::vector<RemoteConnection> first = connect_first(uri, options.upstream);
    check_usable(uri, first, count);
    auto dialer = std::make_unique<ThreadDialer>(uri, first.front().address, count);
    return std::make_unique<UpstreamBacking>(uri.text(), std::move(dialer), std::move(first),
                                             options.upstream);
}

}  // namespace blkscope::nbd
