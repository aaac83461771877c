#include "driver/nbd/client/upstream_dialer.hpp"

#include <atomic>
#include <cassert>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace blkscope::nbd {
namespace {

// The connection that `connect` makes, or the reason for none.
template <class Connect>
DialResult result_of(Connect connect) {
    try {
        return {.connection = connect()};
    } catch (const std::exception& error) {
        return {.connection = std::nullopt, .failure = error.what()};
    }
}

}  // namespace

ClientWishes upstream_wishes() {
    return {.export_name = {}, .replies_max = ReplyForm::extended, .allocation = true};
}

// Shared by the thread and the dialer. The last of them closes a connection that was not taken.
struct ThreadDialer::Attempt {
    Uri uri;
    std::chrono::milliseconds limit;
    DialResult result = {};
    std::atomic<bool> ended{false};
};

void ThreadDialer::begin(std::chrono::milliseconds limit) {
    assert(attempt_ == nullptr);
    attempt_ = std::make_shared<Attempt>();
    attempt_->uri = uri_;
    attempt_->limit = limit;
    const auto run = [attempt = attempt_] {
        attempt->result = result_of(
            [&] { return connect_to_export(attempt->uri, upstream_wishes(), attempt->limit); });
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
    if (result.connection) address_ = result.connection->address;
    return result;
}

DialResult ThreadDialer::dial_now(std::chrono::milliseconds limit) {
    return result_of([&] { return connect_to_address(uri_, address_, upstream_wishes(), limit); });
}

}  // namespace blkscope::nbd
