// Session: one NBD client in its transmission phase.
//
//     Transport ─ received ─▶ Parser ─ request ─▶ admission ─▶ Device::strategy
//     Transport ◀── send ──── Replies ◀─────────────────────── iodone
//
// What can be answered in this turn or the next is answered before more is received: the client
// brings more in the meantime, and need not wake the worker.
//
// What a client can have in hand is bounded (client_memory.hpp). Past that the session stops
// receiving until replies have gone out: a client that sends without reading is held back.
//
//     open ──▶ ending   nothing more is read (DISC, end of stream, shutdown); replies still go out
//       └────▶ dead     the socket is of no use (reset, lost stream); what is under way is awaited
//
// Ownership: owns its transport; lends requests to the device until iodone.
// Threads:   its worker.
// Errors:    a client's mistakes are answered as the protocol says; a broken stream or socket ends
//            the session and nothing else.
// Source:    the NBD protocol document, transmission phase.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "driver/nbd/server/export.hpp"
#include "driver/nbd/tls/tls_session.hpp"
#include "driver/nbd/transmission/client_memory.hpp"
#include "driver/nbd/transmission/parser.hpp"
#include "driver/nbd/transmission/pending_request.hpp"
#include "driver/nbd/transmission/replies.hpp"
#include "driver/nbd/transmission/transport.hpp"
#include "driver/nbd/transmission/turn_list.hpp"

namespace blkscope::nbd {

class Sessions;

/// The lists of a worker's sessions: all, those to be looked at in this turn, and those that wait
/// to take in more (for room, for the next turn, or for replies to go out first).
using SessionEntry = TurnEntry<struct AllSessions>;
using AttentionEntry = TurnEntry<struct Attention>;
using IntakeEntry = TurnEntry<struct Intake>;

class Session final : public SessionEntry,
                      public AttentionEntry,
                      public IntakeEntry,
                      private TransportOwner {
  public:
    /// Takes over a connected stream socket in blocking mode, negotiated for `exp` on these terms,
    /// and the TLS that was begun on it, if any. `lane` is the worker's to the export's device.
    Session(Sessions& sessions, Export& exp, Lane& lane, const Terms& terms, int socket,
            std::unique_ptr<TlsSession> tls);
    ~Session();

    /// Reads no more requests; what was accepted is answered.
    void end();

    /// Gives the socket up at once, and logs why unless that is empty.
    void kill(std::string_view why);
    /// The same for a client that stands still; counted as such.
    void give_up(std::string_view why);

    /// Puts the replies that are ready on the ring, if no send is under way.
    void serve();

    /// Puts the next receive on the ring. False: not yet, for the device may answer what it has
    /// until the next turn.
    bool receive_next();

    /// Goes on parsing after a wait; where it still cannot it stands in line again.
    void resume();

    /// One second has passed.
    void tick();

    [[nodiscard]] Export& exp() const { return export_; }

    /// What it has in hand.
    [[nodiscard]] const ClientMemory& memory() const { return memory_; }

    /// Nothing of it is with the device or the kernel any more.
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
    const bool chunked_;  // the client takes replies in chunks
    State state_ = State::open;

    Parser parser_;
    PendingRequest* incoming_ = nullptr;  // whose payload comes in, or is skipped
    uint64_t share_bytes_ = 0;            // of data, taken in this turn
    bool put_off_ = false;                // the next receive, by one turn

    ClientMemory memory_;
    uint32_t in_device_ = 0;
    Replies replies_;
    std::unique_ptr<Transport> transport_;
};

using SessionList = TurnList<Session, AllSessions>;
using AttentionList = TurnList<Session, Attention>;
using IntakeList = TurnList<Session, Intake>;

}  // namespace blkscope::nbd
