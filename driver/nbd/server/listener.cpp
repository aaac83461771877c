#include "driver/nbd/server/listener.hpp"

#include <cassert>
#include <chrono>
#include <utility>

namespace blkscope::nbd {
namespace {

// After a failure to accept that will not go away at once.
constexpr std::chrono::milliseconds accept_pause{100};

}  // namespace

Listener::Listener(Executor& executor, std::unique_ptr<Acceptor> acceptor)
    : acceptor_(std::move(acceptor)), pause_(executor.make_timer()) {
    assert(acceptor_ != nullptr);
}

Listener::~Listener() {
    stop();
}

void Listener::start(Take take) {
    assert(!take_);
    take_ = std::move(take);
    accept();
}

void Listener::accept() {
    acceptor_->async_accept([this](int error, std::unique_ptr<StreamSocket> socket) {
        accepted(error, std::move(socket));
    });
}

void Listener::stop() {
    acceptor_->close();
    pause_->cancel();
}

void Listener::accepted(int error, std::unique_ptr<StreamSocket> socket) {
    assert((error == 0) == (socket != nullptr));
    if (error == 0) {
        take_(std::move(socket));
        return accept();
    }
    pause_->start(accept_pause, [this] { accept(); });
}

}  // namespace blkscope::nbd
