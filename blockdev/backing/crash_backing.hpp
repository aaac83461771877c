// CrashBacking: a volatile write cache before another backing, and the loss of power.
//
//     write ─▶ VolatileCache ── flush, FUA, full ──▶ the backing, where data is durable
//     read ◀── the cache over ◀───────────────────── the backing
//                    │
//              lose_power(): each block is its durable version, any later one, or torn
//
// A write is acknowledged from the cache. Each request is done at once, with blocking calls, so that
// a read never mixes two moments. The cost is no concern of a device that tests crashes.
//
// Durable means: given to the backing. A flush also flushes the backing. A write with FUA does not.
// A program that is killed loses the cache; a program that ends writes it back. The server's own
// last flush is exempt from lies.
//
// The cache writes a block back when it is full. If the backing refuses that, the next flush fails,
// as the flush of a disk does. The write that needed the room has its data in the cache.
//
// Units:     bytes.
// Ownership: owns the backing that it wraps. All workers' backings share one cache.
// Threads:   as Backing; lose_power() any.
// Errors:    the constructor throws std::invalid_argument for a backing that cannot have a cache, and
//            std::system_error. A request's failure is EIO.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "blockdev/backing/backing.hpp"
#include "blockdev/model/crash_cache.hpp"

namespace blkscope {

/// The cache of one device.
class VolatileCache final : private model::Medium {
  public:
    /// `durable` is a backing without a ring.
    VolatileCache(std::unique_ptr<Backing> durable, const model::CrashCacheOptions& options);
    /// Writes all back. A failure is logged.
    ~VolatileCache() override;

    /// The loss of power: the seed decides what is left of each block. No client of the device may
    /// have a connection. Otherwise a client could flush on a connection that has lost its writes.
    /// Nothing if the backing has refused a write.
    std::optional<model::CrashCache::Survival> lose_power();

    /// The options and the seed, for a person.
    [[nodiscard]] std::string text() const;

    // ---- For CrashBacking. False if the backing has refused a write or a read ----

    [[nodiscard]] bool read(uint64_t offset, std::span<std::byte> to);
    [[nodiscard]] bool write(uint64_t offset, std::span<const std::byte> from, bool fua);
    [[nodiscard]] bool flush();
    /// Makes all writes durable, also on a disk that lies.
    [[nodiscard]] bool write_back();
    /// The extent that the backing reports, or data where the cache has writes.
    [[nodiscard]] Extent extent_at(uint64_t offset, uint64_t limit, Backing& backing);
    [[nodiscard]] bool ignores_flush() const { return options_.ignores_flush; }

  private:
    void write(uint64_t offset, std::span<const std::byte> data) override;
    [[nodiscard]] bool take_success() { return !std::exchange(failed_, false); }

    const model::CrashCacheOptions options_;
    std::mutex mutex_;
    std::unique_ptr<Backing> durable_;
    model::CrashCache cache_;
    bool failed_ = false;  // a write to the backing, since the last flush
};

class CrashBacking final : public Backing {
  public:
    CrashBacking(std::unique_ptr<Backing> backing, const model::CrashCacheOptions& options);

    /// For the loss of power. The cache may outlive the backing.
    [[nodiscard]] std::shared_ptr<VolatileCache> cache() const { return cache_; }

    [[nodiscard]] std::string describe() const override { return backing_->describe(); }
    [[nodiscard]] uint64_t size_bytes() const override { return backing_->size_bytes(); }
    [[nodiscard]] uint32_t block_bytes() const override { return backing_->block_bytes(); }
    [[nodiscard]] Abilities abilities() const override { return backing_->abilities(); }
    void attach(Ring& ring) override;
    [[nodiscard]] bool shareable() const override { return backing_->shareable(); }
    [[nodiscard]] std::unique_ptr<Backing> another() const override;
    std::optional<int32_t> prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;
    [[nodiscard]] Extent extent_at(uint64_t offset, uint64_t limit) override;
    [[nodiscard]] bool sparse() const override { return backing_->sparse(); }
    [[nodiscard]] bool rotational() const override { return backing_->rotational(); }
    [[nodiscard]] bool has_cache() const override { return backing_->has_cache(); }
    [[nodiscard]] bool reads_now() const override { return backing_->reads_now(); }
    [[nodiscard]] hrtime_t rests_ns() const override { return backing_->rests_ns(); }
    void looked() override { backing_->looked(); }
    [[nodiscard]] uint64_t losses() const override { return backing_->losses(); }
    [[nodiscard]] bool must_be_reopened() const override { return backing_->must_be_reopened(); }
    void publish(const Subject& subject) override { backing_->publish(subject); }
    bool more(Buf& buf) override;

  private:
    CrashBacking(std::unique_ptr<Backing> backing, std::shared_ptr<VolatileCache> cache);
    int32_t transfer(Buf& buf);
    std::optional<int32_t> zero(Buf& buf);
    std::optional<int32_t> flush(Buf& buf);

    std::unique_ptr<Backing> backing_;
    std::shared_ptr<VolatileCache> cache_;
    Ring* ring_ = nullptr;
};

}  // namespace blkscope
