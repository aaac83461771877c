// Connection: one NBD client in its transmission phase.
//
//     socket ─ receive ─▶ rx buffer ─ parse ─▶ PendingRequest ─▶ Device::strategy
//     socket ◀── send ─── reply queue ◀──────── iodone ◀──────┘
//
// One receive takes whatever the socket holds and one send gathers all replies that are ready, so
// at depth the kernel is entered per batch, not per request. There is at most one receive and one
// send on the ring at a time: the stream keeps its order. What can be answered in this turn or the
// next is, before more is received: the client brings more in the meantime, and need not wake us.
//
// What a client can hold is bounded: requests, and bytes of the arena. Past that we stop reading
// until replies have gone out; a client that sends without reading is held back, not buffered.
//
//     open ──▶ ending   nothing more is read (DISC, end of stream, shutdown); replies still go out
//       └────▶ dead     the socket is of no use (reset, lost stream); we wait for what is under way
//
// With TLS both ways lead through a TlsSession, whose buffers are what the socket fills and drains;
// what it decrypts is taken in as if it had come from the socket. tls_connection.cpp has that part.
//
// Ownership: owns its socket; lends requests to the device until iodone.
// Threads:   its worker.
// Errors:    a client's mistakes are answered as the protocol says; a broken stream or socket ends
//            the connection and nothing else.
// Source:    the NBD protocol document, transmission phase.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "driver/nbd/protocol.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/tls/tls_session.hpp"
#include "driver/nbd/transmission/pacing.hpp"
#include "driver/nbd/transmission/pending_request.hpp"
#include "driver/nbd/transmission/request_rules.hpp"

namespace blkscope::nbd {

class Worker;

class Connection {
  public:
    /// Takes over a connected stream socket in blocking mode, negotiated for `exp` on these terms,
    /// and the TLS that was begun on it, if any. `lane` is the worker's to the export's device.
    Connection(Worker& worker, Export& exp, Lane& lane, const Terms& terms, int socket,
               std::unique_ptr<TlsSession> tls);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Reads no more requests; what was accepted is answered.
    void end();

    /// Gives the socket up at once, and logs why unless that is empty.
    void kill(std::string_view why);
    /// The same for a client that stands still; counted as such.
    void give_up(std::string_view why);

    /// Puts the replies that are ready on the ring, if no send is under way.
    void send_replies();

    /// Puts the next receive on the ring. False: not yet, for the device may answer what it has
    /// until the next turn.
    bool receive_next();

    /// Goes on parsing after a stall or a share; where it still cannot it stands in line again.
    void resume();

    /// One second has passed. Seconds for which the client has owed us a byte, to take or to give.
    unsigned tick();

    [[nodiscard]] Export& exp() const { return export_; }

    /// It stalls because others hold what it needs, not because it has its own share.
    [[nodiscard]] bool waits_for_others() const { return waits_for_others_; }

    /// Nothing of it is with the device or the kernel any more.
    [[nodiscard]] bool finished() const;

    // The worker's lists.
    bool in_changed_list = false;
    bool in_stalled_list = false;
    bool in_yielded_list = false;
    bool in_receiving_list = false;

  private:
    enum class State : uint8_t { open, ending, dead };

    /// An operation on the socket, which reports to a member function.
    class SocketOperation : public Completion {
      public:
        using Handler = void (Connection::*)(int32_t);
        SocketOperation(Connection& connection, Handler handler)
            : connection_(connection), handler_(handler) {}
        void complete(int32_t result) override { (connection_.*handler_)(result); }
        bool under_way = false;

      private:
        Connection& connection_;
        Handler handler_;
    };

    void receive();
    void receive_into(std::byte* to, size_t room);
    void receive_behind_replies();
    void received(int32_t result);
    void parse();
    bool parse_one();
    [[nodiscard]] std::optional<Request> parse_header() const;
    bool accept(const Request& header);
    bool accept_with_payload(const Request& header);
    bool serve(const Request& header, size_t bytes_taken);
    void turn_down(PendingRequest& request, uint64_t payload_bytes);
    bool take_payload();
    void skip_payload();
    PendingRequest* admit(const Request& header, uint32_t data_bytes);
    void submit(PendingRequest& request);
    static void iodone(Buf& buf);
    void reply(PendingRequest& request);
    void release(PendingRequest& request);

    void fill(PendingRequest& request, const Request& header);
    void give_room_for_extents(PendingRequest& request, const Request& header);
    void drop_payload();

    void list_replies();
    size_t gather();
    void send();
    void tell_pacing();
    void release_sent();
    void sent(int32_t result);
    void skip_sent(size_t bytes);
    [[nodiscard]] Kernel& kernel() const;
    [[nodiscard]] size_t rx_bytes() const { return rx_end_ - rx_begin_; }

    void receive_decrypted(size_t room);
    void receive_encrypted();
    void encrypted_received(int32_t result);
    void cut_off();
    void fail_tls();
    void send_encrypted();
    bool encrypt_replies();
    void encrypted_sent(int32_t result);
    [[nodiscard]] bool all_said() const;
    [[nodiscard]] bool tls_has_more_to_send() const;

    Worker& worker_;
    Export& export_;
    Lane& lane_;
    const RequestRules rules_;
    const size_t header_bytes_;  // of a request
    int socket_;
    State state_ = State::open;

    // Receiving.
    SocketOperation receiving_{*this, &Connection::received};
    std::unique_ptr<std::byte[]> rx_;
    size_t rx_begin_ = 0;
    size_t rx_end_ = 0;
    PendingRequest* payload_ = nullptr;  // the write whose data is coming in
    uint64_t payload_bytes_ = 0;         // of it so far
    PendingRequest* refused_ = nullptr;  // the write whose data is being skipped
    uint64_t skip_bytes_ = 0;            // of it, still to come
    bool large_writes_ = false;          // the last request was one
    uint64_t share_bytes_ = 0;           // of data, taken in this turn
    bool put_off_ = false;               // the next receive, by one turn
    std::optional<Pacing> pacing_;       // of a Unix socket
    iovec receive_iov_[2]{};
    msghdr receive_message_{};

    // Held by this client.
    uint32_t in_device_ = 0;
    uint32_t requests_held_ = 0;
    uint64_t bytes_held_ = 0;
    bool waits_for_others_ = false;

    // Sending.
    SocketOperation sending_{*this, &Connection::sent};
    ReplyQueue ready_;
    ReplyQueue on_the_wire_;
    std::unique_ptr<iovec[]> send_iov_;
    msghdr send_message_{};
    size_t send_bytes_ = 0;

    unsigned seconds_without_progress_ = 0;

    // With TLS; the two operations above then stand for these, too.
    std::unique_ptr<TlsSession> tls_;
    SocketOperation receiving_encrypted_{*this, &Connection::encrypted_received};
    SocketOperation sending_encrypted_{*this, &Connection::encrypted_sent};
};

}  // namespace blkscope::nbd
