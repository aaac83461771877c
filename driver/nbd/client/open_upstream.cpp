#include "driver/nbd/client/open_upstream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <utility>

#include "driver/nbd/client/upstream_backing.hpp"
#include "driver/nbd/client/upstream_terms.hpp"

namespace blkscope::nbd {
namespace {

constexpr std::chrono::milliseconds first_pause{500};

RemoteConnection connect_first(const Uri& uri, const UpstreamOptions& options) {
    const auto limit = std::min(options.timeout, upstream_dial_time_max);
    bool said = false;
    for (;;) {
        try {
            return connect_to_export(uri, upstream_wishes(), limit);
        } catch (const std::runtime_error& error) {
            if (!options.wait) throw;
            if (!std::exchange(said, true)) {
                fmt::print(stderr, "blkscope: {}; waiting for it\n", error.what());
            }
        }
        std::this_thread::sleep_for(first_pause);
    }
}

}  // namespace

std::unique_ptr<Backing> open_upstream(const std::string& spec, const BackingOptions& options) {
    const Uri uri = parse_uri(spec);
    RemoteConnection first = connect_first(uri, options.upstream);
    if (const std::string why = unusable(first.remote); !why.empty()) {
        throw std::runtime_error(fmt::format("{}: {}", uri.text(), why));
    }
    auto dialer = std::make_unique<ThreadDialer>(uri, first.address);
    return std::make_unique<UpstreamBacking>(uri.text(), std::move(dialer), std::move(first),
                                             options.upstream);
}

}  // namespace blkscope::nbd
