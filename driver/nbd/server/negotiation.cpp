#include "driver/nbd/server/negotiation.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "driver/nbd/server/log_limit.hpp"
#include "driver/nbd/server/peer.hpp"
#include "driver/nbd/server/server.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

}  // namespace

Negotiation::Negotiation(Server& server, const Exports& names,
                         std::shared_ptr<const TlsContext> tls, ReplyForm replies_max,
                         Socket socket)
    : server_(&server),
      socket_(std::move(socket)),
      deadline_(socket_.get_executor()),
      tls_context_(std::move(tls)),
      handshake_(names, {}, tls_context_ ? tls_context_->mode() : TlsMode::off, replies_max),
      greeting_(Handshake::greeting()) {}

Negotiation::~Negotiation() = default;

void Negotiation::start(std::chrono::milliseconds deadline) {
    deadline_.expires_after(deadline);
    deadline_.async_wait([self = shared_from_this(), deadline](error_code error) {
        if (error || self->server_ == nullptr) return;
        self->log(fmt::format("not done within {} s", deadline.count() / 1000));
        self->end();
    });
    write(greeting_, Step::Next::go_on);
}

void Negotiation::stop() {
    server_ = nullptr;
    error_code ignored;
    socket_.close(ignored);
    deadline_.cancel();
}

void Negotiation::end() {
    if (server_ == nullptr) return;
    Server& server = *server_;
    stop();
    server.ended(*this);
}

void Negotiation::log(std::string_view what) {
    server_->log_->print(fmt::format("handshake with {} {}", peer_text(socket_), what));
}

void Negotiation::read() {
    if (tls_) return read_decrypted();
    received_.resize(handshake_.wanted());
    asio::async_read(socket_, asio::buffer(received_.data(), received_.size()),
                     [self = shared_from_this()](error_code error, size_t) {
                         // Stopped with bytes already read: the exports may be gone.
                         if (error || self->server_ == nullptr) return self->end();
                         self->step();
                     });
}

void Negotiation::step() {
    const Step step = handshake_.feed(received_);
    terms_ = step.terms;
    if (step.next == Step::Next::transmission) export_serial_ = server_->serial_of(step.exp);
    if (!step.reason.empty()) log(fmt::format("refused: {}", step.reason));
    write(step.send, step.next);
}

// `bytes` belong to the handshake, which is not fed again before they are out.
void Negotiation::write(std::span<const std::byte> bytes, Step::Next next) {
    if (bytes.empty()) return written(next);
    if (tls_) return write_encrypted(bytes, next);
    asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                      [self = shared_from_this(), next](error_code error, size_t) {
                          if (error) return self->end();
                          self->written(next);
                      });
}

void Negotiation::written(Step::Next next) {
    if (server_ == nullptr) return;
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

// The worker's operations block in the kernel, not in a thread, so the socket is a blocking one
// again: a non-blocking one would fail them with EAGAIN.
void Negotiation::hand_over() {
    const std::shared_ptr<Negotiation> self = shared_from_this();
    Server& server = *server_;
    error_code error;
    const int socket = socket_.release(error);
    if (error) return end();
    const int flags = ::fcntl(socket, F_GETFL);
    if (flags < 0 || ::fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) < 0) {
        ::close(socket);
        return end();
    }
    server_ = nullptr;
    deadline_.cancel();
    server.negotiated(*this, export_serial_, terms_, socket, std::move(tls_));
}

}  // namespace blkscope::nbd
