#include "driver/nbd/client/upstream_dialer.hpp"

#include <atomic>
#include <cassert>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace blkscope::nbd {
namespace {

DialResult dial_upstream(const Uri& uri, std::chrono::milliseconds limit) {
    try {
        return {.connection = connect_to_export(uri, upstream_wishes(), limit)};
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
        attempt->result = dial_upstream(attempt->uri, attempt->limit);
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
    return result;
}

DialResult ThreadDialer::dial_now(std::chrono::milliseconds limit) {
    return dial_upstream(uri_, limit);
}

}  // namespace blkscope::nbd
