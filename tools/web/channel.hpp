// Channel: a client's socket, and TLS over it if the server has certificates.
//
//     socket ◀── ciphertext ──▶ TlsSession ◀── text ──▶ Server
//
// The calls are those of a socket that does not block. The first receive() does the handshake. So a
// client that stops in the handshake has the time of a head.
//
// A session has fixed buffers, so a client that does not read costs no more than those.
//
// Ownership: owns the socket; shares the context.
// Threads:   one.
// Errors:    -1 and errno, as recv(2) and sendmsg(2). EPROTO: the client does not speak TLS, or shows no
//            certificate that the server accepts.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <memory>
#include <span>

#include "base/descriptor.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::web {

class Channel {
  public:
    /// Without a context, the text is on the socket as it is.
    Channel(Descriptor socket, const std::shared_ptr<const nbd::TlsContext>& tls);

    [[nodiscard]] bool is_open() const { return socket_.is_open(); }
    [[nodiscard]] int get() const { return socket_.get(); }
    void close();

    /// 0: the client has closed its direction.
    [[nodiscard]] ssize_t receive(std::span<char> to);

    /// Takes as much of the pieces as there is room for. Bytes that were taken may wait: see unsent().
    [[nodiscard]] ssize_t send(std::span<iovec> pieces);

    /// Bytes of ciphertext that wait for the socket. A send() without pieces continues with them.
    [[nodiscard]] size_t unsent() const { return session_ ? session_->output().size() : 0; }

    /// Whether receive() may give text without an event of the socket.
    [[nodiscard]] bool has_input() const { return session_ && session_->in_record(); }

    /// The client reads the end behind all that was sent.
    void end_sending();

  private:
    [[nodiscard]] bool flush();
    [[nodiscard]] bool fill();
    [[nodiscard]] ssize_t read_session(std::span<char> to);

    Descriptor socket_;
    std::unique_ptr<nbd::TlsSession> session_;  // null without TLS
    bool is_shaken_ = false;                    // the handshake is done
};

}  // namespace blkscope::web
