// Sessions: the clients of one worker, the work that each has in a turn, and their shared memory.
//
//     received, iodone, sent ─▶ needs_attention ─▶ serve_all(): sends replies, closes the finished
//     no room for a request ──▶ waits_for_room ──▶ resume_waiting(), once memory was released
//     a share is parsed ──────▶ yields ──────────▶ resume_yielded(), in the next turn
//     all is parsed ──────────▶ receives_next ───▶ receive_all(), after the turn's replies
//
// Ownership: owns the sessions and their memory. The owner, the ring and the exports outlive them.
// Threads:   the worker's.
// Errors:    open() throws what a session's constructor throws.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "blockdev/accounting/recorder.hpp"
#include "blockdev/ring/ring.hpp"
#include "driver/nbd/server/log_limit.hpp"
#include "driver/nbd/transmission/session.hpp"
#include "driver/nbd/transmission/shared_memory.hpp"
#include "trace/request.hpp"

namespace blkscope::nbd {

/// The class that is told when a session has closed.
class SessionsOwner {
  public:
    virtual void session_closed(Export& exp) = 0;

  protected:
    SessionsOwner& operator=(SessionsOwner&&) = delete;
    ~SessionsOwner() = default;
};

class Sessions {
  public:
    Sessions(Ring& ring, SessionsOwner& owner, Recorder& recorder)
        : ring_(ring), owner_(owner), recorder_(recorder) {}
    ~Sessions();
    Sessions& operator=(Sessions&&) = delete;

    void open(Lane& lane, Arrival arrival);

    // ---- The clients of one export ----
    [[nodiscard]] bool empty() const { return all_.empty(); }
    [[nodiscard]] bool has_clients(uint64_t export_serial) const;
    void close_clients(uint64_t export_serial);
    /// Closes the clients at once, without answers. True if there are none.
    bool cut_clients(uint64_t export_serial);
    /// Closes those that are left, and logs what each of them waits for.
    void close_stalled_clients(uint64_t export_serial);

    /// The accepted requests of the clients that have not been answered, by their arrival.
    [[nodiscard]] std::vector<trace::Request> under_way(uint64_t export_serial);

    // ---- A worker's turn ----
    // No session has work to do before the next completion.
    [[nodiscard]] bool may_sleep() const {
        return attention_.empty() && yielded_.empty() && receiving_.empty();
    }
    void resume_yielded();
    void resume_waiting();
    void serve_all();
    void receive_all();
    /// Call once a second.
    void tick();

    /// Logs that a connection to `exp` was closed, and why.
    void log(const Export& exp, std::string_view why);

    // ---- For each session ----
    [[nodiscard]] Ring& ring() { return ring_; }
    [[nodiscard]] SharedMemory& memory() { return memory_; }
    [[nodiscard]] const SharedMemory& memory() const { return memory_; }
    [[nodiscard]] Recorder& recorder() { return recorder_; }

    /// The session has replies to send, or has finished. Each such session is served once per turn.
    void needs_attention(Session& session) { attention_.add(session); }
    /// The session waits for memory and resumes when some was released.
    void waits_for_room(Session& session) { waiting_.add(session); }
    /// The session has used its share of this turn. The next turn follows without sleeping.
    void yields(Session& session) { yielded_.add(session); }
    /// The session receives after the replies of this turn, or of the next one.
    void receives_next(Session& session) { receiving_.add(session); }

  private:
    void close(Session& session);

    Ring& ring_;
    SessionsOwner& owner_;
    Recorder& recorder_;
    SharedMemory memory_;
    LogLimit log_;
    SessionList all_;
    AttentionList attention_;
    IntakeList waiting_;
    IntakeList yielded_;
    IntakeList receiving_;
};

}  // namespace blkscope::nbd
