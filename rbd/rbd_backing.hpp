// RbdBacking: an image of a Ceph cluster.
//
//     prepare(buf) ─▶ Operation ─▶ librbd ─▶ the event ─▶ ring ─▶ take_ended() ─▶ the buf's result
//                        └─ after `patience`: ETIMEDOUT for the buf, and the operation is an orphan
//
// librbd has threads of its own for the cluster. The ring of the device's worker waits for an event,
// and the worker takes all operations that have ended. One worker serves the device. Two handles of
// one image would have two caches. Each would take the image's lock from the other.
//
// A request that the cluster does not answer in time fails. librbd cannot cancel its operation, and a
// late write may still be done. A device with as many orphans as its depth refuses requests at once,
// until the cluster answers.
//
// Behind the end of an image that was made smaller, reads fail with EIO and writes with ENOSPC. An
// image that was made larger is a larger device for clients that connect afterwards.
//
// Units:     bytes.
// Ownership: owns the image. An operation never has the memory of a request.
// Threads:   as Backing.
// Errors:    opening throws std::system_error, and std::runtime_error without the module. A bad name
//            and options that an image cannot have throw std::invalid_argument.
// Source:    <rbd/librbd.h> of Ceph 16.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "blockdev/backing/backing.hpp"
#include "blockdev/ring/alarm.hpp"
#include "rbd/image.hpp"
#include "rbd/operations.hpp"
#include "rbd/place.hpp"
#include "rbd/rbd_kstat.hpp"
#include "rbd/watch.hpp"

namespace blkscope::rbd {

class RbdBacking final : public Backing, private Alarm, private Watcher {
  public:
    struct Options {
        bool read_only = false;
        std::chrono::milliseconds patience{30'000};
        size_t orphans_max = 128;
    };
    RbdBacking(std::shared_ptr<Image> image, const Place& place, const Options& options);
    ~RbdBacking() override;

    [[nodiscard]] std::string describe() const override { return text_; }
    /// Grows with the image, and never shrinks. Any thread.
    [[nodiscard]] uint64_t size_bytes() const override;
    [[nodiscard]] Abilities abilities() const override;
    void attach(Ring& ring) override;
    std::optional<int32_t> prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;
    [[nodiscard]] bool reads_now() const override { return operations_->orphans() == 0; }
    [[nodiscard]] bool must_be_reopened() const override { return kstat_.blocklisted(); }
    void publish(const Subject& subject) override { kstat_.publish(subject); }
    [[nodiscard]] bool has_cache() const override { return false; }
    bool more(Buf& buf) override;

    [[nodiscard]] const RbdKstat& figures() const { return kstat_; }

  private:
    int submit(Buf& buf, Operation& operation);
    [[nodiscard]] uint64_t share_of(const Buf& buf) const;
    void signalled() override;
    void collect();
    int32_t outcome(const Operation& operation, int64_t result);
    int32_t late(Buf& buf);
    void due() override;
    void note_orphans();
    void note_blocklisted();

    const std::shared_ptr<Image> image_;
    const blkscope_rbd_table& librbd_;
    const std::string text_;
    const Options options_;
    mutable std::atomic<uint64_t> size_bytes_;
    std::unique_ptr<Operations> operations_;
    RbdKstat kstat_;
    Ring* ring_ = nullptr;
    Watch* watch_;  // owns itself while the ring has its operation
};

/// Opens `spec`: rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT][?conf=PATH&id=USER].
std::unique_ptr<Backing> open_rbd(const std::string& spec, const BackingOptions& options);

}  // namespace blkscope::rbd
