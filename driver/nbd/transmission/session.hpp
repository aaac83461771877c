// Session: one NBD client in its transmission phase.
//
//     Transport ─ received ─▶ Parser ─ request ─▶ admission ─▶ Device::strategy
//     Transport ◀── send ──── Replies ◀─────────────────────── iodone
//
// The session sends the replies that a turn produced before it receives again. The client sends its
// next requests in the meantime, so the worker need not be woken for them.
//
// A client has a limit of requests and memory (client_memory.hpp). At the limit the session stops
// receiving until replies have been sent.
//
//     open ──▶ ending   reads no more (DISC, end of stream, shutdown); replies are still sent
//       └────▶ dead     the socket is useless (reset, lost stream); waits for what the device has
//
// A client that closes its socket without DISC is lost. Its waiting requests are not done, because the
// client may have sent them again on a new connection. A session that does not receive looks at its
// socket: see is_lost(). A killed TCP client looks like one that waits for its answers, until the
// first answer is sent.
//
// Ownership: owns its transport; lends requests to the device until iodone.
// Threads:   the worker's.
// Errors:    a client's mistake gets the protocol's reply. A broken stream or socket ends the
//            session and nothing else.
// Source:    the NBD protocol document, transmission phase.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "driver/nbd/server/export.hpp"
#include "driver/nbd/transmission/arrival.hpp"
#include "driver/nbd/transmission/client_memory.hpp"
#include "driver/nbd/transmission/parser.hpp"
#include "driver/nbd/transmission/pending_request.hpp"
#include "driver/nbd/transmission/replies.hpp"
#include "driver/nbd/transmission/transport.hpp"
#include "driver/nbd/transmission/turn_list.hpp"

namespace blkscope::nbd {

class Sessions;

/// The lists of a worker's sessions: all, those to serve in this turn, and those that wait to
/// receive more. The last ones wait for room, for the next turn, or for replies to be sent first.
using SessionEntry = TurnEntry<struct AllSessions>;
using AttentionEntry = TurnEntry<struct Attention>;
using IntakeEntry = TurnEntry<struct Intake>;

class Session final : public SessionEntry,
                      public AttentionEntry,
                      public IntakeEntry,
                      private TransportOwner {
  public:
    /// Takes over the arrival's socket, and the TLS session on it, if any. `lane` is this worker's
    /// lane to the export's device.
    Session(Sessions& sessions, Lane& lane, Arrival arrival);
    ~Session();

    /// Reads no more requests; accepted requests are still answered.
    void end();

    /// Shuts the socket down at once. Logs `why` unless empty.
    void close_now(std::string_view why);
    /// The same for a client that holds others up; counted in the lane. Without `why`, it holds up the
    /// end of its export, and the log says what it waits for.
    void close_stalled(std::string_view why);

    /// Puts the replies that are ready on the ring, if no send is under way.
    void serve();

    /// Puts the next receive on the ring. False: the receive is put off until the next turn,
    /// because the device may finish requests first.
    bool receive_next();

    /// Continues to parse after a wait. A session that still has no room waits again.
    void resume();

    /// Call once a second.
    void tick();

    [[nodiscard]] Export& exp() const { return export_; }

    /// Whether the session reads requests. A session that ends waits for no request that hangs.
    [[nodiscard]] bool is_open() const { return state_ == State::open; }

    /// Whether the client has closed its socket without DISC.
    [[nodiscard]] bool is_lost();

    /// The requests and memory that the client uses now.
    [[nodiscard]] ClientMemory& memory() { return memory_; }

    /// Neither the device nor the kernel has anything of this session any more.
    [[nodiscard]] bool finished() const;

  private:
    enum class State : uint8_t { open, ending, dead };

    void received(int32_t result) override;
    void sent(int32_t result) override;
    void stream_ended(int32_t result);
    void receive();
    void receive_behind_replies();
    void parse();
    bool parse_one();
    bool take_in();
    void refuse(PendingRequest& request);
    void drop_payload();
    void submit(PendingRequest& request);
    static void iodone(Buf& buf);
    void reply(PendingRequest& request);

    Sessions& sessions_;
    Export& export_;
    Lane& lane_;
    const bool chunked_;  // the client accepts replies in chunks
    State state_ = State::open;

    Parser parser_;
    PendingRequest* incoming_ = nullptr;  // the request whose payload is being received or skipped
    uint64_t share_bytes_ = 0;            // of data, received in this turn
    bool put_off_ = false;                // the next receive waits one turn
    hrtime_t received_ = 0;               // when the last receive ended, in ticks
    hrtime_t held_back_ = 0;              // how long a request waited for memory since then

    ClientMemory memory_;
    Client* client_ = nullptr;  // nullptr: without statistics of its own
    uint64_t losses_seen_;      // of the backing's losses, the last that the client was told
    uint32_t in_device_ = 0;
    bool disconnects_ = false;  // a fault of the device closes the connection in this turn
    bool said_end_ = false;     // the client has sent DISC, so its requests are done without it
    bool lost_ = false;
    uint64_t looked_ = 0;  // the turn of the last look at the socket
    Replies replies_;
    std::unique_ptr<Transport> transport_;
};

using SessionList = TurnList<Session, AllSessions>;
using AttentionList = TurnList<Session, Attention>;
using IntakeList = TurnList<Session, Intake>;

}  // namespace blkscope::nbd
