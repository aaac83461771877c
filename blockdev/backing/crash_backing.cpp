#include "blockdev/backing/crash_backing.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <new>
#include <stdexcept>

#include "base/log_line.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

constexpr uint64_t zeroes_per_turn = uint64_t{64} << 10;
constexpr std::array<std::byte, zeroes_per_turn> zero_bytes{};

// The cache's own access to the backing.
std::unique_ptr<Backing> second_of(const Backing& backing) {
    if (backing.block_bytes() > 1) {
        throw std::invalid_argument("crash-cache: it cannot be in front of a direct backing");
    }
    std::unique_ptr<Backing> second = backing.another();
    if (!second) throw std::invalid_argument("crash-cache: this backing cannot have one");
    return second;
}

}  // namespace

VolatileCache::VolatileCache(std::unique_ptr<Backing> durable,
                             const model::CrashCacheOptions& options)
    : options_(options), durable_(std::move(durable)), cache_(options) {
    assert(durable_ != nullptr);
}

VolatileCache::~VolatileCache() {
    if (write_back()) return;
    log_line(durable_->describe(), ": the crash cache could not be written back");
}

void VolatileCache::write(uint64_t offset, std::span<const std::byte> data) {
    if (!durable_->write_now(offset, data)) failed_ = true;
}

std::optional<model::CrashCache::Survival> VolatileCache::lose_power() {
    const std::lock_guard lock(mutex_);
    const model::CrashCache::Survival survival = cache_.crash(*this);
    return take_success() ? std::optional(survival) : std::nullopt;
}

std::string VolatileCache::text() const {
    return options_.text() + ", seed " + std::to_string(options_.seed);
}

bool VolatileCache::read(uint64_t offset, std::span<std::byte> to) {
    const std::lock_guard lock(mutex_);
    if (!durable_->read_now(offset, to)) return false;
    cache_.overlay(offset, to);
    return true;
}

// A write with FUA fails by itself. A write-back that fails concerns the next flush.
bool VolatileCache::write(uint64_t offset, std::span<const std::byte> from, bool fua) try {
    const std::lock_guard lock(mutex_);
    const bool forced = fua && !options_.ignores_flush && !planted("fua-in-cache");
    const bool failed_before = failed_;
    if (forced) failed_ = false;
    cache_.write(offset, from, forced, *this);
    return !forced || !std::exchange(failed_, failed_before);
} catch (const std::bad_alloc&) {
    return false;
}

bool VolatileCache::flush() {
    const std::lock_guard lock(mutex_);
    cache_.flush(*this);
    return take_success();
}

bool VolatileCache::write_back() {
    const std::lock_guard lock(mutex_);
    cache_.write_back(*this);
    return take_success();
}

// In one step: a write-back between the two questions would hide data.
Extent VolatileCache::extent_at(uint64_t offset, uint64_t limit, Backing& backing) {
    const std::lock_guard lock(mutex_);
    const Extent extent = backing.extent_at(offset, limit);
    if (!extent.hole) return extent;
    const uint64_t hole = cache_.bytes_to_cached(offset, extent.bytes);
    if (hole > 0) return {hole, true};
    const uint64_t block_end = cache_.block_bytes() - offset % cache_.block_bytes();
    return {std::min(extent.bytes, block_end), false};
}

CrashBacking::CrashBacking(std::unique_ptr<Backing> backing,
                           const model::CrashCacheOptions& options)
    : CrashBacking(std::move(backing), nullptr) {
    cache_ = std::make_shared<VolatileCache>(second_of(*backing_), options);
}

CrashBacking::CrashBacking(std::unique_ptr<Backing> backing, std::shared_ptr<VolatileCache> cache)
    : backing_(std::move(backing)), cache_(std::move(cache)) {
    assert(backing_ != nullptr);
}

void CrashBacking::attach(Ring& ring) {
    assert(ring_ == nullptr);
    ring_ = &ring;
    backing_->attach(ring);
}

std::unique_ptr<Backing> CrashBacking::another() const {
    std::unique_ptr<Backing> second = backing_->another();
    if (!second) return nullptr;
    return std::unique_ptr<Backing>(new CrashBacking(std::move(second), cache_));
}

std::optional<int32_t> CrashBacking::prepare(Buf& buf) {
    assert(ring_ != nullptr);
    assert(buf.state == Buf::State::running);
    switch (buf.op) {
        case Buf::Op::read:
        case Buf::Op::write:
            return transfer(buf);
        case Buf::Op::trim:
        case Buf::Op::write_zeroes:
            return zero(buf);
        case Buf::Op::flush:
            return flush(buf);
        case Buf::Op::cache:
        case Buf::Op::block_status:
            return backing_->prepare(buf);
    }
    return -EOPNOTSUPP;
}

int32_t CrashBacking::transfer(Buf& buf) {
    assert(buf.moved() == 0);  // a read or write is one operation
    ring_->unlock();
    const bool done = buf.op == Buf::Op::read
                          ? cache_->read(buf.offset, {buf.data, buf.bcount})
                          : cache_->write(buf.offset, {buf.data, buf.bcount}, buf.fua);
    return done ? static_cast<int32_t>(buf.bcount) : -EIO;
}

// Zeroes are data of the cache, too: a crash may bring the old data back. So only a hole stays as it is. Zeroing is
// never fast.
std::optional<int32_t> CrashBacking::zero(Buf& buf) {
    if (buf.op == Buf::Op::write_zeroes && buf.fast_zero) return -EOPNOTSUPP;
    if (buf.resid == 0) return 0;  // an empty trim, as old kernels send it
    ring_->unlock();
    const uint64_t offset = buf.offset + buf.moved();
    const bool blind = planted("cache-not-zeroed");
    const Extent present =
        blind ? backing_->extent_at(offset, buf.resid) : extent_at(offset, buf.resid);
    if (present.hole && !buf.no_hole) {
        buf.covers = present.bytes;
    } else {
        buf.covers = std::min({buf.resid, present.bytes, zeroes_per_turn});
        const auto data = std::span(zero_bytes).first(buf.covers);
        if (!cache_->write(offset, data, buf.fua)) return -EIO;
    }
    if (buf.covers == buf.resid) return 0;
    ring_->completed_later(buf, 0);
    return std::nullopt;
}

std::optional<int32_t> CrashBacking::flush(Buf& buf) {
    if (cache_->ignores_flush() && !buf.exempt) return 0;
    ring_->unlock();
    const bool done = buf.exempt ? cache_->write_back() : cache_->flush();
    if (!done) return -EIO;
    return backing_->prepare(buf);
}

bool CrashBacking::read_now(uint64_t offset, std::span<std::byte> to) {
    return cache_->read(offset, to);
}

Extent CrashBacking::extent_at(uint64_t offset, uint64_t limit) {
    return cache_->extent_at(offset, limit, *backing_);
}

// Only operations that the backing has prepared have further steps there.
bool CrashBacking::more(Buf& buf) {
    const bool own = buf.in_queues() || buf.discards();
    return !own && backing_->more(buf);
}

}  // namespace blkscope
