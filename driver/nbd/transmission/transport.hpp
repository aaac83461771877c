// Transport: a client's stream of bytes, in and out, on a worker's ring.
//
//     receive(places) ──▶ ring ──▶ owner.received(bytes)     one receive and one send at a time,
//     send(pieces) ─────▶ ring ──▶ owner.sent(bytes)         so that the stream keeps its order
//
// PlainTransport moves bytes between the socket and the owner's memory. TlsTransport has a TlsSession
// in between. Neither knows what the bytes mean.
//
// Each receive() is answered by one received(), each send() by one sent(), from Ring::dispatch() and
// never from within the call. An operation that the kernel interrupts is repeated here.
//
// Units:     bytes.
// Ownership: owns its socket; borrows places and pieces until received() or sent().
// Threads:   the ring's worker.
// Errors:    -errno in received() and sent(); reason() has the words for it.
// Source:    recvmsg(2), sendmsg(2), shutdown(2).
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "blockdev/ring/ring.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {

/// Who wants the bytes.
class TransportOwner {
  public:
    /// So many bytes were received, in the order of the places; 0: the stream has ended.
    virtual void received(int32_t result) = 0;
    /// So many bytes of the pieces were sent, fewer than all perhaps; 0: only what the transport
    /// itself had to send.
    virtual void sent(int32_t result) = 0;

  protected:
    TransportOwner() = default;
    TransportOwner(const TransportOwner&) = default;
    TransportOwner& operator=(const TransportOwner&) = default;
    ~TransportOwner() = default;
};

class Transport {
  public:
    static constexpr size_t places_max = 2;

    virtual ~Transport();
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    /// Receives what has come, to one place or two, the first of them first.
    virtual void receive(std::span<const iovec> places) = 0;
    /// Sends pieces of `bytes` together.
    virtual void send(std::span<iovec> pieces, size_t bytes) = 0;
    /// Says what is to be said after the last piece. Not while a send is under way.
    virtual void say_farewell() {}

    [[nodiscard]] bool is_receiving() const { return receiving_; }
    [[nodiscard]] bool is_sending() const { return sending_; }
    /// Bytes that may be received without a system call: a receive should not be put off.
    [[nodiscard]] virtual bool has_read_ahead() const { return false; }
    /// Nothing is left to send, farewell included.
    [[nodiscard]] virtual bool has_said_all() const { return true; }
    /// The stream's end was not announced, where the client has a way to announce it.
    [[nodiscard]] virtual bool was_cut_off() const { return false; }
    /// What an error of received() or sent() means, as one line.
    [[nodiscard]] virtual std::string reason(int32_t result) const;
    /// Bytes that went through the socket, both ways together, since the beginning.
    [[nodiscard]] uint64_t bytes_moved() const { return bytes_moved_; }

    /// Nothing more is wanted: a receive that is under way ends soon.
    void stop_receiving();
    /// The same for both directions.
    void cut();

  protected:
    /// Of a connected stream socket in blocking mode.
    Transport(TransportOwner& owner, Ring& ring, int socket);

    /// An operation on the socket that reports to a member function.
    template <class T, void (T::*handler)(int32_t)>
    class Operation final : public Completion {
      public:
        explicit Operation(T& transport) : transport_(transport) {}
        void complete(int32_t result) override { (transport_.*handler)(result); }

      private:
        T& transport_;
    };

    /// The kernel gave up an operation that may succeed when repeated. ECANCELED: the kernel had no
    /// memory for the wait that the operation was linked to.
    static bool is_interrupted(int32_t result);

    TransportOwner& owner_;
    Ring& ring_;
    const int socket_;
    const bool is_unix_;
    bool receiving_ = false;
    bool sending_ = false;
    bool stopped_ = false;  // nothing more is received
    uint64_t bytes_moved_ = 0;
};

/// A transport on `socket`, which it owns from here; with the TLS that was begun on it, if any.
std::unique_ptr<Transport> make_transport(TransportOwner& owner, Ring& ring, int socket,
                                          std::unique_ptr<TlsSession> tls);

}  // namespace blkscope::nbd
