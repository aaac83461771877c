#include "driver/nbd/server/listener.hpp"

#include <cassert>
#include <cerrno>
#include <chrono>
#include <utility>

namespace blkscope::nbd {
namespace {

// The pause after an accept error that is likely to last.
constexpr std::chrono::milliseconds accept_pause{100};

}  // namespace

Listener::Listener(Executor& executor, std::unique_ptr<Acceptor> acceptor)
    : acceptor_(std::move(acceptor)), pause_(executor.make_timer()) {
    assert(acceptor_ != nullptr);
}

Listener::~Listener() {
    stop();
}

void Listener::start(Host& host) {
    assert(host_ == nullptr);
    host_ = &host;
    accept();
}

void Listener::accept() {
    assert(host_ != nullptr);
    acceptor_->async_accept([this](auto socket) { accepted(std::move(socket)); });
}

void Listener::stop() {
    acceptor_->close();
    pause_->cancel();
}

// Returns false if no client could be accepted.
bool Listener::accept_in_need(int error) {
    assert(error != 0);
    assert(host_ != nullptr);
    auto socket = acceptor_->accept_with_spare();
    const bool any = socket != nullptr;
    if (any) host_->admit_in_need(std::move(socket), error);
    acceptor_->restore_spare();
    return any;
}

void Listener::accepted(Result<std::unique_ptr<StreamSocket>> socket) {
    assert(host_ != nullptr);
    if (socket) {
        assert(*socket != nullptr);
        host_->admit(std::move(*socket));
        return accept();
    }
    const int error = socket.error().value();
    if ((error == EMFILE || error == ENFILE) && accept_in_need(error)) return accept();
    pause_->start(accept_pause, [this] { accept(); });
}

}  // namespace blkscope::nbd
