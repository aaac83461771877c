// Transport: a client's stream of bytes, in and out, on a worker's ring.
//
//     receive(places) ──▶ ring ──▶ owner.received(bytes)     one receive and one send at a time,
//     send(pieces) ─────▶ ring ──▶ owner.sent(bytes)         so that the stream keeps its order
//
// PlainTransport moves bytes between the socket and the owner's memory. TlsTransport has a
// TlsSession in between. Neither interprets the bytes.
//
// Each receive() leads to one received(), each send() to one sent(). Ring::dispatch() makes these
// calls, never receive() or send(). An interrupted operation is repeated here.
//
// Units:     bytes.
// Ownership: owns its socket; borrows places and pieces until received() or sent().
// Threads:   the ring's worker.
// Errors:    -errno in received() and sent(); reason() gives the text.
// Source:    recvmsg(2), sendmsg(2), shutdown(2).
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "blockdev/ring/ring.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {

/// The class that receives the bytes.
class TransportOwner {
  public:
    /// `result` bytes were received, in the order of the places; 0: the stream has ended.
    virtual void received(int32_t result) = 0;
    /// `result` bytes of the pieces were sent, perhaps not all. 0: only the transport's own bytes.
    virtual void sent(int32_t result) = 0;

  protected:
    TransportOwner& operator=(TransportOwner&&) = delete;
    ~TransportOwner() = default;
};

class Transport {
  public:
    static constexpr size_t places_max = 2;

    virtual ~Transport();
    Transport& operator=(Transport&&) = delete;

    /// Receives available bytes into one place or two, the first place first.
    void receive(std::span<const iovec> places);
    /// Sends the pieces, together `bytes` long.
    virtual void send(std::span<iovec> pieces, size_t bytes) = 0;
    /// Sends a short message that nothing follows, as far as the socket accepts it at once.
    virtual void send_last(std::span<const std::byte> bytes);
    /// Sends the message that closes the stream, after the last piece. Not while a send is under
    /// way.
    virtual void send_close() {}

    [[nodiscard]] bool is_receiving() const { return receiving_; }
    [[nodiscard]] bool is_sending() const { return sending_; }
    /// True if bytes can be received without a system call. A receive should then not be put off.
    [[nodiscard]] virtual bool has_read_ahead() const { return false; }
    /// True if nothing is left to send, the closing message included.
    [[nodiscard]] virtual bool has_sent_all() const { return true; }
    /// True if the stream ended without an announcement, where the protocol has one.
    [[nodiscard]] virtual bool was_cut_off() const { return false; }
    /// True if nothing can be sent any more. The other side of a Unix socket is closed, or a TCP
    /// connection was reset. A closed TCP socket resets the connection when it receives.
    [[nodiscard]] bool is_broken() const { return ring_.kernel().send_now(socket_, {}) < 0; }
    /// True if bytes, the end of the stream or an error wait for the owner.
    /// Not while receiving. After true, nothing more may be received.
    [[nodiscard]] virtual bool has_input();
    /// The text for an error of received() or sent(), one line.
    [[nodiscard]] virtual std::string reason(int32_t result) const;
    /// Bytes through the socket in both directions, since the beginning.
    [[nodiscard]] uint64_t bytes_moved() const { return bytes_moved_; }

    /// Stops receiving; a receive under way ends soon.
    void stop_receiving();
    /// Shuts down both directions.
    void cut();

  protected:
    /// `socket` is a connected stream socket in blocking mode.
    Transport(TransportOwner& owner, Ring& ring, int socket);

    /// Receives into the first places_count_ of places_.
    virtual void receive_into_places() = 0;

    /// An operation on the socket that calls a member function on completion.
    template <class T, void (T::*handler)(int32_t)>
    class Operation final : public Completion {
      public:
        explicit Operation(T& transport) : transport_(transport) {}
        void complete(int32_t result) override { (transport_.*handler)(result); }

      private:
        T& transport_;
    };

    /// True for an error after which the operation may be repeated. ECANCELED: the kernel had no
    /// memory for the wait to which the operation was linked.
    static bool is_interrupted(int32_t result);

    TransportOwner& owner_;
    Ring& ring_;
    const int socket_;
    const bool is_unix_;
    bool receiving_ = false;
    bool sending_ = false;
    bool stopped_ = false;  // nothing more is received
    std::array<iovec, places_max> places_{};
    size_t places_count_ = 0;
    uint64_t bytes_moved_ = 0;
};

/// Makes a transport, which owns `socket` and the TLS session on it, if any.
std::unique_ptr<Transport> make_transport(TransportOwner& owner, Ring& ring, int socket,
                                          std::unique_ptr<TlsSession> tls);

}  // namespace blkscope::nbd
