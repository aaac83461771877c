// Sessions: the clients of one worker, what each of them has to do in a turn, and what they share.
//
//     received, iodone, sent ─▶ needs_attention ─▶ serve_all(): replies go out, the finished close
//     no room for a request ──▶ waits_for_room ──▶ resume_waiting(), once something was released
//     a share is taken in ────▶ yields ──────────▶ resume_yielded(), in the next turn
//     all is parsed ──────────▶ receives_next ───▶ receive_all(), behind the turn's replies
//
// Ownership: owns the sessions and their memory. The owner, the ring and the exports outlive them.
// Threads:   one worker.
// Errors:    open() throws what a session's constructor throws.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "blockdev/ring/ring.hpp"
#include "driver/nbd/server/log_limit.hpp"
#include "driver/nbd/transmission/session.hpp"
#include "driver/nbd/transmission/shared_memory.hpp"

namespace blkscope::nbd {

/// Who wants to know that a client is no more.
class SessionsOwner {
  public:
    virtual void session_closed(Export& exp) = 0;

  protected:
    SessionsOwner() = default;
    SessionsOwner(const SessionsOwner&) = default;
    SessionsOwner& operator=(const SessionsOwner&) = default;
    ~SessionsOwner() = default;
};

class Sessions {
  public:
    Sessions(Ring& ring, SessionsOwner& owner) : ring_(ring), owner_(owner) {}
    ~Sessions();
    Sessions(const Sessions&) = delete;
    Sessions& operator=(const Sessions&) = delete;

    void open(Export& exp, Lane& lane, const Terms& terms, int socket,
              std::unique_ptr<TlsSession> tls);

    // ---- The clients of one export ----
    [[nodiscard]] bool empty() const { return all_.empty(); }
    [[nodiscard]] bool has_clients(uint64_t export_serial) const;
    void end_clients(uint64_t export_serial);
    void give_up_clients(uint64_t export_serial, std::string_view why);

    // ---- A worker's turn ----
    /// No session has something to do before the next completion.
    [[nodiscard]] bool may_sleep() const {
        return attention_.empty() && yielded_.empty() && receiving_.empty();
    }
    void resume_yielded();
    void resume_waiting();
    void serve_all();
    void receive_all();
    /// One second has passed.
    void tick();

    /// Tells that a connection to `exp` was closed, and why.
    void log(const Export& exp, std::string_view why);

    // ---- For each session ----
    [[nodiscard]] Ring& ring() { return ring_; }
    [[nodiscard]] SharedMemory& memory() { return memory_; }

    /// Has replies to send, or has come to its end; looked at once per turn.
    void needs_attention(Session& session) { attention_.add(session); }
    /// Waits for room; goes on when something was released.
    void waits_for_room(Session& session) { waiting_.add(session); }
    /// Has had its share of this turn; goes on in the next, which comes without sleeping.
    void yields(Session& session) { yielded_.add(session); }
    /// Receives next, after the replies of this turn, or those of the next one.
    void receives_next(Session& session) { receiving_.add(session); }

  private:
    void close(Session& session);

    Ring& ring_;
    SessionsOwner& owner_;
    SharedMemory memory_;
    LogLimit log_;
    SessionList all_;
    AttentionList attention_;
    IntakeList waiting_;
    IntakeList yielded_;
    IntakeList receiving_;
};

}  // namespace blkscope::nbd
