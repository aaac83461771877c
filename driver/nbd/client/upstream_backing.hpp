// UpstreamBacking: an export of another NBD server as a backing.
//
//     prepare(buf) ─▶ refusal? ─▶ UpstreamLink ─▶ the other server
//     read_now() ───▶ the first connections, before any request; later one of its own
//
// The abilities are the other server's. UpstreamLink has the connections and their losses.
//
// Units:     bytes; nanoseconds of the ring's clock.
// Ownership: owns its connections, and borrows each buf from prepare() to its result.
// Threads:   as Backing. must_be_reopened() any.
// Errors:    none but a request's failure, which is its result.
// Source:    the NBD protocol document, "Transmission phase".
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blockdev/backing/backing.hpp"
#include "driver/nbd/client/blocking_reader.hpp"
#include "driver/nbd/client/dial.hpp"
#include "driver/nbd/client/upstream_dialer.hpp"
#include "driver/nbd/client/upstream_kstat.hpp"
#include "driver/nbd/client/upstream_link.hpp"

namespace blkscope::nbd {

/// How long a look at the partition table may take. The worker does nothing else in a look, so the clients of its other
/// devices wait too.
struct LookLimits {
    std::chrono::milliseconds first_max{5'000};  // of the thread that opens the backing
    std::chrono::milliseconds max{150};
    std::chrono::milliseconds slow{50};  // after a slower one there is none for a time
};

class UpstreamBacking final : public Backing {
  public:
    /// One connection or more, whose export is usable: see unusable(). None of them falls short of the
    /// first: see shortcoming().
    UpstreamBacking(std::string name, std::unique_ptr<UpstreamDialer> dialer,
                    std::vector<RemoteConnection> connections, const UpstreamOptions& options,
                    const LookLimits& looks = {});

    [[nodiscard]] std::string describe() const override { return target_.name; }
    [[nodiscard]] uint64_t size_bytes() const override { return target_.offered.size_bytes; }
    [[nodiscard]] uint32_t block_bytes() const override {
        return target_.offered.block_size.minimum;
    }
    [[nodiscard]] Abilities abilities() const override { return abilities_; }
    [[nodiscard]] bool has_cache() const override;
    [[nodiscard]] bool rotational() const override;
    [[nodiscard]] bool lists_extents() const override { return abilities_.holes; }
    void attach(Ring& ring) override;
    std::optional<int32_t> prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;
    [[nodiscard]] bool reads_now() const override;
    [[nodiscard]] hrtime_t rests_ns() const override;
    void looked() override;
    [[nodiscard]] uint64_t losses() const override { return link_ ? link_->losses() : 0; }
    [[nodiscard]] bool must_be_reopened() const override;
    void publish(const Subject& subject) override { kstat_.publish(subject); }

    [[nodiscard]] const UpstreamKstat& figures() const { return kstat_; }

  private:
    /// Reads of the device itself: from the first one to the latest.
    struct Look {
        Deadline begin;
        Deadline end;
        bool failed;
    };

    [[nodiscard]] std::optional<int32_t> refusal(Buf& buf) const;
    ReadEnd read_before(Deadline deadline, uint64_t offset, std::span<std::byte> to);
    void lose_look();
    [[nodiscard]] bool allows_looks() const;

    const UpstreamTarget target_;
    const Abilities abilities_;
    const LookLimits looks_;
    const std::unique_ptr<UpstreamDialer> dialer_;
    UpstreamKstat kstat_;
    Ring* ring_ = nullptr;
    std::vector<RemoteConnection> first_;   // until the first request
    std::optional<Look> look_;              // until looked()
    std::optional<RemoteConnection> side_;  // of the look
    hrtime_t rests_until_ = 0;              // no look before, on the ring's clock
    std::optional<UpstreamLink> link_;      // from the first request on
};

}  // namespace blkscope::nbd
