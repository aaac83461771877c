// UpstreamOutage: since when another server has not answered, and which requests have waited for too long.
//
// A device with more requests than its depth sends some only after others have failed. Their time in the
// device's queue counts too. Otherwise a long queue would fail one depth after the other, each after the
// whole timeout. Time before the outage does not count, because a limit also makes wait.
//
// Such a request may fail as soon as it is given. So its failure needs evidence: an attempt that failed a
// moment ago, or one without an end for so long. An attempt is a connection, and ends well with an answer. A
// connection that was silent for a moment has failed, too, when it is lost.
// Pauses between attempts may be long, so one is due a moment before a request fails.
//
// Units:     the caller's.
// Ownership: none.
// Threads:   a single one.
// Errors:    none.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>

namespace blkscope::nbd {

class UpstreamOutage {
  public:
    /// `timeout`: how long a request waits at most.
    UpstreamOutage(int64_t timeout, int64_t moment) : timeout_(timeout), moment_(moment) {
        assert(timeout > 0);
        assert(moment > 0);
    }

    /// The connection is lost. The oldest request without an answer was sent at `silent_since`. A server
    /// that was silent for a moment is away; one that just closes may be back at once.
    void lost(int64_t silent_since, int64_t now) {
        const bool lasted = since_.has_value();
        // Until its latest answer the server was there for others.
        if (!lasted) since_ = std::max(silent_since, answered_);
        if (lasted || now - *since_ >= moment_) attempt_failed(now);
    }
    void attempt_begins(int64_t now) {
        if (!since_) since_ = now;
        begun_ = attempted_ = now;
    }
    void attempt_failed(int64_t now) {
        assert(since_);
        begun_.reset();
        failed_ = now;
    }
    /// Nothing is evident before a request is with the server.
    void connected() {
        begun_.reset();
        failed_.reset();
    }
    void sent(int64_t now) {
        assert(lasts());
        if (!begun_) begun_ = now;
    }
    /// The server has answered a request, so the outage is over.
    void answered(int64_t now) {
        answered_ = now;
        if (!since_) return;
        since_.reset();
        begun_.reset();
        failed_.reset();
    }

    [[nodiscard]] bool lasts() const { return since_.has_value(); }

    /// Since when a request waits for the server that is given to it now.
    [[nodiscard]] int64_t waits_since(int64_t arrival, int64_t now) const {
        // A corrected clock may have gone back since.
        return since_ ? std::min(std::max(arrival, *since_), now) : now;
    }

    /// A request has waited for too long. The link has it since `given`, and it waits since `since`.
    [[nodiscard]] bool is_late(int64_t given, int64_t since, int64_t now) const {
        assert(since <= given);
        return now - given >= timeout_ || (now - since >= timeout_ && is_evident(now));
    }

    /// The request fails in a moment, and nothing shows that the server is away. The latest attempt is a
    /// moment ago, because a server that closes after each answer should not get more.
    [[nodiscard]] bool needs_attempt(int64_t since, int64_t now) const {
        const bool rested = !attempted_ || now - *attempted_ >= moment_;
        return rested && now - since >= timeout_ - moment_ && !is_evident(now);
    }

  private:
    /// An attempt shows that the server is away.
    [[nodiscard]] bool is_evident(int64_t now) const {
        if (begun_) return now - *begun_ >= moment_;
        return failed_ && now - *failed_ <= moment_;
    }

    const int64_t timeout_;
    const int64_t moment_;
    int64_t answered_ = 0;              // the latest answer
    std::optional<int64_t> since_;      // during an outage
    std::optional<int64_t> attempted_;  // the begin of the latest attempt
    std::optional<int64_t> begun_;   // an attempt without an end: its begin, or its first request
    std::optional<int64_t> failed_;  // the latest attempt of this outage that failed
};

}  // namespace blkscope::nbd
