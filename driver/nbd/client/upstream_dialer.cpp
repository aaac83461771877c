#include "driver/nbd/client/upstream_dialer.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cassert>
#include <exception>
#include <future>
#include <stdexcept>
#include <system_error>

#include "base/detached_thread.hpp"
#include "driver/nbd/client/dial.hpp"

namespace blkscope::nbd {
namespace {

constexpr std::chrono::milliseconds further_time_min{200};  // for those after the first

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

// Connects in a thread of its own. Without a thread the future has that failure.
std::future<RemoteConnection> begin_further(const Uri& uri, const ServerAddress& address,
                                            std::chrono::milliseconds limit) {
    const auto task = std::make_shared<std::packaged_task<RemoteConnection()>>(
        [uri, address, limit] { return connect_further(uri, address, limit); });
    auto further = task->get_future();
    try {
        run_detached([task] { (*task)(); });
    } catch (const std::system_error& error) {
        std::promise<RemoteConnection> none;
        none.set_exception(std::make_exception_ptr(error));
        return none.get_future();
    }
    return further;
}

}  // namespace

// All are at one address, because a name may have several servers. Those after the first are made at
// the same time, so a request waits for two handshakes only. Where fewer will do, one that takes much
// longer than the first is not waited for. The others would be idle meanwhile, and requests wait.
std::vector<RemoteConnection> connect_upstream(const Uri& uri, unsigned count,
                                               std::chrono::milliseconds limit, Fewer fewer) {
    assert(count > 0);
    const auto begin = std::chrono::steady_clock::now();
    std::vector<RemoteConnection> made;
    made.push_back(connect_to_export(uri, upstream_wishes(), limit));
    if (!made.front().remote.offers(transmission_flag::can_multi_conn)) count = 1;
    const auto between = std::chrono::steady_clock::now();
    std::vector<std::future<RemoteConnection>> further;
    while (further.size() + 1 < count) {
        further.push_back(begin_further(uri, made.front().address, limit));
    }
    std::chrono::steady_clock::duration patience = 2 * limit;  // each has a limit of its own
    if (fewer == Fewer::taken) patience = further_time_min + 3 * (between - begin);
    std::string failure = fmt::format("{}: it does not answer in time", uri.text());
    for (std::future<RemoteConnection>& one : further) {
        if (one.wait_until(between + patience) != std::future_status::ready) continue;
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
        run_detached(run);
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
