#include "driver/nbd/client/upstream_dialer.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cassert>
#include <exception>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "driver/nbd/client/dial.hpp"

namespace blkscope::nbd {
namespace {

// The connections that `connect` makes, or the reason for none.
template <class Connect>
DialResult result_of(Connect connect) {
    try {
        return {.connections = connect()};
    } catch (const std::exception& error) {
        return {.failure = error.what()};
    }
}

// One address may have several servers, too, or the server may have begun anew meanwhile.
RemoteConnection connect_further(const Uri& uri, const ServerAddress& address,
                                 std::chrono::milliseconds limit) {
    RemoteConnection connection = connect_to_address(uri, address, upstream_wishes(), limit);
    if (!connection.remote.offers(transmission_flag::can_multi_conn)) {
        throw std::runtime_error(fmt::format("{}: it allows a single connection now", uri.text()));
    }
    return connection;
}

}  // namespace

// All are at one address, because a name may have several servers. Those after the first are made at
// the same time. A request waits for two handshakes only, and the first connection is not idle for long.
std::vector<RemoteConnection> connect_upstream(const Uri& uri, unsigned count,
                                               std::chrono::milliseconds limit, Fewer fewer) {
    assert(count > 0);
    std::vector<RemoteConnection> made;
    made.push_back(connect_to_export(uri, upstream_wishes(), limit));
    if (!made.front().remote.offers(transmission_flag::can_multi_conn)) count = 1;
    const ServerAddress address = made.front().address;
    std::vector<std::future<RemoteConnection>> further;
    while (further.size() + 1 < count) {
        further.push_back(std::async(std::launch::async, connect_further, std::cref(uri),
                                     std::cref(address), limit));
    }
    std::string failure;
    for (std::future<RemoteConnection>& one : further) {
        try {
            made.push_back(one.get());
        } catch (const std::runtime_error& error) {
            failure = error.what();
        }
    }
    if (made.size() < count && fewer == Fewer::refused) {
        throw std::runtime_error(
            fmt::format("{} ({} of {} connections)", failure, made.size(), count));
    }
    return made;
}

ClientWishes upstream_wishes() {
    return {.export_name = {}, .replies_max = ReplyForm::extended, .allocation = true};
}

// Shared by the thread and the dialer. The last of them closes a connection that was not taken.
struct ThreadDialer::Attempt {
    Uri uri;
    unsigned count;
    std::chrono::milliseconds limit;
    DialResult result = {};
    std::atomic<bool> ended{false};
};

void ThreadDialer::begin(std::chrono::milliseconds limit) {
    assert(attempt_ == nullptr);
    attempt_ = std::make_shared<Attempt>();
    attempt_->uri = uri_;
    attempt_->count = count_;
    attempt_->limit = limit;
    const auto run = [attempt = attempt_] {
        attempt->result = result_of([&] {
            return connect_upstream(attempt->uri, attempt->count, attempt->limit, Fewer::taken);
        });
        attempt->ended.store(true, std::memory_order_release);
    };
    try {
        std::thread(run).detach();  // looking up a name cannot be stopped
    } catch (const std::system_error& error) {
        attempt_->result.failure = error.what();
        attempt_->ended.store(true, std::memory_order_release);
    }
}

std::optional<DialResult> ThreadDialer::result() {
    assert(attempt_ != nullptr);
    if (!attempt_->ended.load(std::memory_order_acquire)) return std::nullopt;
    DialResult result = std::move(attempt_->result);
    attempt_.reset();
    if (!result.connections.empty()) address_ = result.connections.front().address;
    return result;
}

DialResult ThreadDialer::dial_now(std::chrono::milliseconds limit) {
    return result_of([&] {
        std::vector<RemoteConnection> one;
        one.push_back(connect_to_address(uri_, address_, upstream_wishes(), limit));
        return one;
    });
}

}  // namespace blkscope::nbd
