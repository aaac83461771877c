// Accounting: all counters of a device's requests, as a fixed list of observers.
//
//     strategy() ── entered ──▶ start() ── started ──▶ done() ── ended ──▶ after_end ──▶ iodone ── replied
//                     │                      │                     │         │
//                     ▼                      ▼                     ▼         ▼
//       IoCounts      queues                 queues                queues
//       CommandCounts                                              requests, bytes, errors
//       ...
//       SampledStats                                                         a sample
//       DeviceProbes  a probe at each
//
// The clock is read once for each event, and that reading is the request's own stamp. So the
// queues, the histograms and the statistics agree to the tick. All events but `after_end` are inside
// the device's sequence lock, for which readers wait. Longer work belongs in `after_end`, which is
// outside. `replied` comes only for requests of connections whose reply was sent.
//
// To add an observer, write a class and name it in the list at the end of this file. Its
// constructor takes (const Seqlock&, const Subject&), and it has any of the five functions.
// Include its header here and add its source to blockdev/CMakeLists.txt. Code outside needs an
// accessor, such as errors().
//
// Units:     ticks of the kernel's clock.
// Ownership: owns the observers, their counters and their kstats.
// Threads:   one worker at a time, with the device locked. Readers of the IO kstats and the timers
//            copy through the sequence lock. Readers of the other kstats observe each number by
//            itself. Readers of a client's info kstat lock that client's list of connections. A
//            worker waits for that lock when a connection opens or closes. No other reader
//            blocks a worker.
// Errors:    the constructor throws std::runtime_error if a kstat cannot be created.
#pragma once

#include <cassert>

#include "base/seqlock.hpp"
#include "blockdev/accounting/clients.hpp"
#include "blockdev/accounting/command_counts.hpp"
#include "blockdev/accounting/errno_counts.hpp"
#include "blockdev/accounting/error_kstat.hpp"
#include "blockdev/accounting/histogram_counts.hpp"
#include "blockdev/accounting/interrupt_counts.hpp"
#include "blockdev/accounting/io_counts.hpp"
#include "blockdev/accounting/probes.hpp"
#include "blockdev/accounting/sampled_stats.hpp"
#include "blockdev/accounting/slowest.hpp"
#include "blockdev/accounting/subject.hpp"
#include "blockdev/accounting/timer_counts.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

/// Passes each event to the observers that have a function for it.
template <class... Each>
class ObserverList : private Each... {
  public:
    ObserverList(const Seqlock& seq, const Subject& subject) : Each(seq, subject)... {}

    template <class One>
    [[nodiscard]] One& get() {
        return *this;
    }

    void entered(const Buf& buf) {
        const auto tell = [&](auto& observer) {
            if constexpr (requires { observer.entered(buf); }) observer.entered(buf);
        };
        (tell(static_cast<Each&>(*this)), ...);
    }
    void started(const Buf& buf) {
        const auto tell = [&](auto& observer) {
            if constexpr (requires { observer.started(buf); }) observer.started(buf);
        };
        (tell(static_cast<Each&>(*this)), ...);
    }
    void ended(const Buf& buf) {
        const auto tell = [&](auto& observer) {
            if constexpr (requires { observer.ended(buf); }) observer.ended(buf);
        };
        (tell(static_cast<Each&>(*this)), ...);
    }
    void replied(const Buf& buf) {
        const auto tell = [&](auto& observer) {
            if constexpr (requires { observer.replied(buf); }) observer.replied(buf);
        };
        (tell(static_cast<Each&>(*this)), ...);
    }
    void after_end(const Buf& buf) {
        const auto tell = [&](auto& observer) {
            if constexpr (requires { observer.after_end(buf); }) observer.after_end(buf);
        };
        (tell(static_cast<Each&>(*this)), ...);
    }
};

class Accounting {
  public:
    explicit Accounting(const Subject& subject) : observers_(seq_, subject) {}
    Accounting& operator=(Accounting&&) = delete;

    // ---- Events of a request: `clock` is read inside the sequence lock; see io_kstat.cpp ----

    template <class Clock>
    void entered(Buf& buf, Clock clock) {
        if constexpr (!enabled) return;
        assert(buf.state == Buf::State::waiting);
        const auto writing = seq_.write();
        buf.queued = clock();
        observers_.entered(buf);
    }
    template <class Clock>
    void started(Buf& buf, Clock clock) {
        if constexpr (!enabled) return;
        assert(buf.state == Buf::State::running);
        const auto writing = seq_.write();
        buf.started = clock();
        observers_.started(buf);
    }
    template <class Clock>
    void ended(Buf& buf, Clock clock) {
        if constexpr (!enabled) return;
        assert(buf.state == Buf::State::running);
        {
            const auto writing = seq_.write();
            buf.finished = clock();
            observers_.ended(buf);
        }
        observers_.after_end(buf);
    }

    /// The reply of an ended request was sent at `buf.replied`.
    void replied(const Buf& buf) {
        if constexpr (!enabled) return;
        assert(buf.replied > 0 && buf.finished > 0);
        const auto writing = seq_.write();
        observers_.replied(buf);
    }

    // ---- Events of the device ----

    /// A turn's operations were submitted at `to`; the backing got the first of them at `from`.
    void submitted(hrtime_t from, hrtime_t to) {
        if constexpr (!enabled) return;
        const auto writing = seq_.write();
        observers_.get<TimerCounts>().submitted(from, to);
    }
    /// A client has opened a connection.
    void connection_opened() {
        commands().connection_opened();
        interrupts().handed_over();
        observers_.get<SampledStats>().connection_opened();
    }
    /// A connection of a client has opened, or has closed and has no request any more.
    Client& client_opened(const ClientIdentity& who, const ConnectionFigures& figures,
                          hrtime_t now_ns) {
        return clients().open(who, figures, now_ns);
    }
    void client_closed(Client& client, const ConnectionFigures& figures, hrtime_t now_ns) {
        const auto closed = clients().close(client, figures, now_ns);
        if (!closed) return;
        closed->withdraw();
        clients().take_over_connections(*closed);
        const auto writing = seq_.write();
        clients().take_over_closed(*closed);
    }
    /// An operation has completed in this turn of the ring.
    void completed(uint64_t turn, uint64_t& last_turn) {
        if constexpr (enabled) interrupts().completed(turn, last_turn);
    }

    [[nodiscard]] IoCounts& io() { return observers_.get<IoCounts>(); }
    [[nodiscard]] Clients& clients() { return observers_.get<Clients>(); }
    [[nodiscard]] CommandCounts& commands() { return observers_.get<CommandCounts>(); }
    [[nodiscard]] ErrorKstat& errors() { return observers_.get<ErrorKstat>(); }
    [[nodiscard]] InterruptCounts& interrupts() { return observers_.get<InterruptCounts>(); }
    [[nodiscard]] Slowest& slowest() { return observers_.get<Slowest>(); }
    [[nodiscard]] RequestHistograms& histograms() {
        return observers_.get<HistogramCounts>().histograms();
    }

  private:
    // Off only in a build that measures the cost of the accounting.
    static constexpr bool enabled = BLKSCOPE_ACCOUNTING != 0;

    Seqlock seq_;
    ObserverList<IoCounts, Clients, HistogramCounts, TimerCounts, CommandCounts, ErrnoCounts,
                 ErrorKstat, InterruptCounts, SampledStats, Slowest, DeviceProbes>
        observers_;
};

}  // namespace blkscope
