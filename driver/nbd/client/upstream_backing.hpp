// UpstreamBacking: an export of another NBD server as a backing.
//
//     prepare(buf) ─▶ waiting_ ── connection? order? ─▶ Requester ─▶ answered() ─▶ buf
//                        ▲                                  │
//                        └── closing ◀── lost() ◀───────────┘
//
//     fresh ─▶ connected ─▶ closing ─▶ idle ─▶ pausing ─▶ dialling ─┬─▶ connected
//                                       └── while a request waits ──┴─▶ changed, until a reload
//
// The connection is lost when it ends, when an answer is late, and when the server shuts down.
// Requests then wait for the next connection and are sent again, but for a flush. A request that
// waits longer than the timeout fails. UpstreamOrder keeps an old write away from newer requests,
// and UnflushedWrites says whether acknowledged writes may be lost.
//
// Without requests the backing has no operation on its ring, only an alarm. So a lost connection is
// made again for the next request.
//
// Units:     bytes; nanoseconds of the ring's clock.
// Ownership: owns its connection, and borrows each buf from prepare() to its result.
// Threads:   as Backing. must_be_reopened() any.
// Errors:    none but a request's failure, which is its result.
// Source:    the NBD protocol document, "Transmission phase".
#pragma once

#include <memory>
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
#include "driver/nbd/client/upstream_request.hpp"

namespace blkscope::nbd {

class UpstreamBacking final : public Backing, private RequesterOwner, private Alarm {
  public:
    /// The connection's export is usable: see unusable().
    UpstreamBacking(std::string name, std::unique_ptr<UpstreamDialer> dialer,
                    RemoteConnection connection, const UpstreamOptions& options);
    ~UpstreamBacking() override;

    [[nodiscard]] std::string describe() const override { return name_; }
    [[nodiscard]] uint64_t size_bytes() const override { return offered_.size_bytes; }
    [[nodiscard]] uint32_t block_bytes() const override { return offered_.block_size.minimum; }
    [[nodiscard]] Abilities abilities() const override { return abilities_; }
    [[nodiscard]] bool has_cache() const override;
    [[nodiscard]] bool rotational() const override;
    [[nodiscard]] bool lists_extents() const override { return abilities_.holes; }
    void attach(Ring& ring) override;
    std::optional<int32_t> prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;
    [[nodiscard]] bool reads_now() const override;
    [[nodiscard]] uint64_t losses() const override { return losses_; }
    [[nodiscard]] bool must_be_reopened() const override;
    void publish(const Subject& subject) override;

    [[nodiscard]] const UpstreamKstat& figures() const { return kstat_; }

  private:
    enum class Phase : uint8_t { fresh, connected, closing, idle, pausing, dialling, changed };

    void answered(RemoteRequest& remote) override;
    void lost(std::string_view why) override;
    void due() override;

    [[nodiscard]] std::optional<int32_t> refusal(Buf& buf) const;
    void connect_if_needed();
    void send_what_may_go();
    [[nodiscard]] bool may_go(const UpstreamRequest& request, hrtime_t now) const;
    void send(UpstreamRequest& request);
    void finish(UpstreamRequest& request, int32_t result);
    void fail(UpstreamRequest& request);
    void fail_all_waiting();
    void fail_old_ones();
    void take_back_requests();
    void take_back(UpstreamRequest& request);
    [[nodiscard]] bool is_lost_with_connection(const UpstreamRequest& request) const;
    void pause();
    void dial();
    void take_dialled(DialResult dialled);
    void establish(RemoteConnection connection);
    [[nodiscard]] bool read_through(const RemoteConnection& connection, uint64_t offset,
                                    std::span<std::byte> to) const;
    void log(std::string_view what, std::string_view why) const;
    void wake_in(hrtime_t ns);
    [[nodiscard]] hrtime_t now_ns() const;

    const std::string name_;
    const std::unique_ptr<UpstreamDialer> dialer_;
    const UpstreamOptions options_;
    const RemoteExport offered_;  // clients rely on it
    const Abilities abilities_;
    std::string device_;  // for messages; empty if it has no name

    Ring* ring_ = nullptr;
    Phase phase_ = Phase::fresh;
    std::optional<RemoteConnection> first_;  // until the first request
    std::optional<RemoteConnection> side_;   // of read_now(), until the next request
    std::optional<Requester> requester_;
    RemoteExport remote_;  // of the requester

    UpstreamRequests requests_;
    std::vector<UpstreamRequest*> waiting_;  // in the order of arrival
    UpstreamOrder order_;
    UnflushedWrites unflushed_;
    bool writes_are_lost_ = false;  // by the last loss
    uint64_t losses_ = 0;
    hrtime_t pause_ns_;
    hrtime_t pause_ends_ = 0;
    std::string last_failure_;  // the last one in the log
    UpstreamKstat kstat_;
};

}  // namespace blkscope::nbd
