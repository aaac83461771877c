// UpstreamLink: the connections of a backing to another NBD server, and all requests on them.
//
//     submit(buf) ─▶ waiting_ ── connected? order? ─▶ Requesters ─▶ answered() ─▶ buf
//                       ▲                                  │
//                       └── closing ◀── lost() ◀───────────┘
//
//     idle ─▶ pausing ─▶ dialling ─┬─▶ connected ─▶ closing ─▶ idle
//       └─ while a request waits ──┴─▶ changed, until a reload
//
// A request goes to the connection with the fewest requests, and to each in turn if they are equal. The rules below are the same for all
// connections, because a server that gets several says CAN_MULTI_CONN.
//
// The connections are lost together: when one ends, when an answer is late, and when the server shuts
// down. Requests of the others may be done already, and the end of one is often the server's.
// Requests then wait for the next connections and are sent again, but for a flush. A request that
// waits longer than the timeout fails. UpstreamOutage says when. UpstreamOrder keeps an old write away from newer requests,
// and UnflushedWrites says whether acknowledged writes may be lost.
//
// Without requests the link has no operation on its ring, only an alarm. So lost connections are
// made again for the next request.
//
// Units:     bytes; nanoseconds of the ring's clock.
// Ownership: owns its connections, and borrows each buf from submit() to its result. The ring and the
//            dialer outlive it.
// Threads:   the ring's worker.
// Errors:    none but a request's failure, which is its result.
// Source:    the NBD protocol document, "Transmission phase".
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blockdev/backing/backing.hpp"
#include "blockdev/ring/alarm.hpp"
#include "driver/nbd/client/requester.hpp"
#include "driver/nbd/client/unflushed_writes.hpp"
#include "driver/nbd/client/upstream_dialer.hpp"
#include "driver/nbd/client/upstream_kstat.hpp"
#include "driver/nbd/client/upstream_order.hpp"
#include "driver/nbd/client/upstream_outage.hpp"
#include "driver/nbd/client/upstream_request.hpp"

namespace blkscope::nbd {

/// The purpose of a link.
struct UpstreamTarget {
    std::string name;      // the URI, for messages
    RemoteExport offered;  // clients rely on it
    UpstreamOptions options;
};

class UpstreamLink final : private RequesterOwner, private Alarm {
  public:
    /// `kstat` gets the link's figures.
    UpstreamLink(Ring& ring, const UpstreamTarget& target, UpstreamDialer& dialer,
                 UpstreamKstat& kstat);
    ~UpstreamLink() override;

    /// Takes the connections that another part has made, one or more.
    void establish(std::vector<RemoteConnection> connections);
    /// Does the buf, whose result comes through the ring.
    void submit(Buf& buf);

    [[nodiscard]] bool is_connected() const { return phase_ == Phase::connected; }
    [[nodiscard]] bool is_useless() const { return phase_ == Phase::changed; }
    /// The export of the latest connections.
    [[nodiscard]] const RemoteExport& remote() const { return remote_; }
    /// As Backing::losses().
    [[nodiscard]] uint64_t losses() const { return losses_; }

  private:
    enum class Phase : uint8_t { connected, closing, idle, pausing, dialling, changed };

    void answered(RemoteRequest& remote) override;
    void lost(std::string_view why) override;
    void due() override;

    /// Sends the waiting requests that may go: all, or those that overlap `freed`.
    void send_what_may_go(const std::optional<UpstreamRange>& freed = std::nullopt);
    void wake_for_waiting();
    [[nodiscard]] Requester& next_of_least_busy();
    void send(UpstreamRequest& request);
    void finish(UpstreamRequest& request, int32_t result);
    void fail(UpstreamRequest& request);
    bool fail_old_ones();
    void take_back_requests();
    void take_back(UpstreamRequest& request);
    [[nodiscard]] bool is_lost_with_connection(const UpstreamRequest& request) const;
    void pause();
    void dial();
    void take_dialled(DialResult dialled);
    void log(std::string_view what, std::string_view why) const;
    void wake_in(hrtime_t ns);
    [[nodiscard]] hrtime_t now_ns() const;

    Ring& ring_;
    const UpstreamTarget& target_;
    const bool flushes_;  // else all that is acknowledged is stable
    UpstreamDialer& dialer_;
    UpstreamKstat& kstat_;
    Phase phase_ = Phase::idle;
    std::deque<Requester> requesters_;
    size_t turn_ = 0;      // the requester after the last one that got a request
    RemoteExport remote_;  // of the first requester

    UpstreamRequests requests_;
    std::vector<UpstreamRequest*> waiting_;  // in the order of arrival
    UpstreamOrder order_;
    UpstreamOutage outage_;  // in ticks of the ring's clock
    UnflushedWrites unflushed_;
    bool writes_are_lost_ = false;  // by the last loss
    uint64_t losses_ = 0;
    hrtime_t established_ns_ = 0;  // the latest connections
    hrtime_t pause_ns_;
    hrtime_t pause_ends_ = 0;
    std::string last_failure_;  // the last one in the log
};

}  // namespace blkscope::nbd
