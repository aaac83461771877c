#include "driver/nbd/server/negotiation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cassert>
#include <utility>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/server/tls_stream.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {
namespace {

// Other work of the control thread may take seconds, such as a loss of power. Bytes that the client
// has sent meanwhile would not be read before the deadline's call.
constexpr std::chrono::milliseconds grace{250};

}  // namespace

Negotiation::Negotiation(Host& host, Executor& executor, Offer offer,
                         std::unique_ptr<StreamSocket> socket, uint64_t number)
    : host_(&host),
      number_(number),
      socket_(std::move(socket)),
      deadline_(executor.make_timer()),
      tls_context_(std::move(offer.tls)),
      handshake_(offer.names, {}, tls_context_ ? tls_context_->mode() : TlsMode::off,
                 offer.replies_max),
      greeting_(Handshake::greeting()) {
    assert(socket_ != nullptr && deadline_ != nullptr);
}

Negotiation::~Negotiation() = default;

void Negotiation::start(std::chrono::milliseconds deadline) {
    assert(!stopped());
    const auto late = [self = shared_from_this(), deadline] {
        if (self->stopped() || planted("deadline-forgotten")) return;
        self->log(fmt::format("not done within {} s", deadline.count() / 1000));
        self->end();
    };
    deadline_->start(deadline, [self = shared_from_this(), late] {
        if (!self->stopped()) self->deadline_->start(grace, late);
    });
    write(greeting_, Step::Next::go_on);
}

void Negotiation::stop() {
    host_ = nullptr;
    socket_->close();
    deadline_->cancel();
}

void Negotiation::end() {
    if (stopped()) return;
    // Closing drops the pending calls. The last of them may own this object.
    const std::shared_ptr<Negotiation> self = shared_from_this();
    Host& host = *host_;
    stop();
    assert(stopped());
    host.ended(*this);
}

void Negotiation::log(std::string_view what) {
    assert(!stopped());
    host_->log(fmt::format("handshake with {} {}", peer().text(), what));
}

void Negotiation::read() {
    assert(!stopped());
    assert(handshake_.wanted() > 0);
    received_.resize(handshake_.wanted());
    received_bytes_ = 0;
    receive();
}

// Receives until all requested bytes are there.
void Negotiation::receive() {
    assert(!stopped());
    if (received_bytes_ == received_.size()) return step();
    socket_->async_read_some(std::span(received_).subspan(received_bytes_),
                             [self = shared_from_this()](int32_t result) {
                                 if (result <= 0 || self->stopped()) return self->end();
                                 self->received_bytes_ += static_cast<size_t>(result);
                                 assert(self->received_bytes_ <= self->received_.size());
                                 self->receive();
                             });
}

void Negotiation::step() {
    assert(!stopped());
    const Step step = handshake_.feed(received_);
    terms_ = step.terms;
    if (step.next == Step::Next::transmission) export_serial_ = host_->serial_of(step.exp);
    if (!step.reason.empty()) log(fmt::format("refused: {}", step.reason));
    write(step.send, step.next);
}

// The handshake owns `bytes`, and is not fed again before they are sent.
void Negotiation::write(std::span<const std::byte> bytes, Step::Next next) {
    assert(!stopped());
    if (bytes.empty()) return written(next);
    if (next == Step::Next::close) socket_->set_last_write();
    socket_->async_write(bytes, [self = shared_from_this(), next](int error) {
        if (error != 0) return self->end();
        self->written(next);
    });
}

void Negotiation::written(Step::Next next) {
    if (stopped()) return;
    switch (next) {
        case Step::Next::go_on:
            return read();
        case Step::Next::start_tls:
            return start_tls();
        case Step::Next::close:
            return end();
        case Step::Next::transmission:
            return hand_over();
    }
}

void Negotiation::hand_over() {
    assert(!stopped());
    const std::shared_ptr<Negotiation> self = shared_from_this();
    Host& host = *host_;
    const Result<int> socket = socket_->release();
    if (!socket) {
        log(fmt::format("failed: {}", socket.error().message()));
        return end();
    }
    stop();
    host.negotiated(*this, export_serial_, terms_, *socket, std::move(tls_));
}

// ---- TLS ----

void Negotiation::start_tls() {
    assert(!stopped());
    assert(tls_context_ != nullptr);
    assert(tls_ == nullptr);
    tls_ = std::make_unique<TlsSession>(tls_context_);
    auto stream = std::make_unique<TlsStream>(std::move(socket_), *tls_,
                                              [this](std::string_view what) { log_tls(what); });
    TlsStream& encrypted = *stream;
    socket_ = std::move(stream);
    encrypted.handshake([self = shared_from_this()](int error) {
        if (error != 0 || self->stopped()) return self->end();
        self->read();
    });
}

void Negotiation::log_tls(std::string_view what) {
    assert(!stopped());
    host_->log(fmt::format("{}: TLS handshake {}", peer().text(), what));
}

}  // namespace blkscope::nbd
