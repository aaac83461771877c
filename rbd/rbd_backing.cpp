#include "rbd/rbd_backing.hpp"

#include <poll.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/log_line.hpp"
#include "rbd/load.hpp"

namespace blkscope::rbd {
namespace {

// Of one operation. librbd makes a request of its own for each object of a range.
constexpr uint64_t discarded_objects_max = 256;
constexpr uint64_t zeroed_bytes_max = uint64_t{32} << 20;  // where zeroes are really written

// A device looks for its partition table with its lock locked.
constexpr std::chrono::milliseconds read_now_max{5000};
constexpr int look_interval_ms = 5;

// The offset of a device's last byte must fit the kernel's off_t.
constexpr auto size_bytes_max = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

constexpr uint64_t preferred_bytes_max = uint64_t{32} << 20;

}  // namespace

RbdBacking::RbdBacking(std::shared_ptr<Image> image, const Place& place, const Options& options)
    : image_(std::move(image)),
      librbd_(image_->table()),
      text_(place.text()),
      options_(options),
      size_bytes_(image_->size_bytes()),
      operations_(std::make_unique<Operations>()),
      watch_(new Watch(*this, image_)) {
    assert(options_.orphans_max > 0 && options_.patience.count() > 0);
}

RbdBacking::~RbdBacking() {
    watch_->abandon();
    close(image_, std::move(operations_));
}

uint64_t RbdBacking::size_bytes() const {
    const uint64_t now = std::min(image_->size_bytes(), size_bytes_max);
    uint64_t largest = size_bytes_.load();
    while (now > largest && !size_bytes_.compare_exchange_weak(largest, now)) {
    }
    return std::max(now, largest);
}

Abilities RbdBacking::abilities() const {
    const uint64_t object = librbd_.object_bytes(image_->get());
    return {.read_only = options_.read_only,
            .holes = false,
            .block_bytes_preferred = static_cast<uint32_t>(std::min(object, preferred_bytes_max))};
}

void RbdBacking::attach(Ring& ring) {
    assert(ring_ == nullptr);
    ring_ = &ring;
}

// ---- A request begins ----

std::optional<int32_t> RbdBacking::prepare(Buf& buf) {
    assert(ring_ != nullptr && buf.state == Buf::State::running);
    if (buf.op == Buf::Op::cache || buf.op == Buf::Op::block_status) return 0;
    if (options_.read_only && buf.op == Buf::Op::flush) return 0;
    if (buf.op == Buf::Op::write_zeroes && buf.fast_zero && buf.no_hole) return -EOPNOTSUPP;
    if (operations_->orphans() >= options_.orphans_max) return late(buf);
    ring_->unlock();  // a write is copied
    const hrtime_t patience =
        kernel_ticks(ring_->kernel(), std::chrono::nanoseconds(options_.patience).count());
    Operation& operation = operations_->start(buf, ring_->now() + patience);
    if (const int error = submit(buf, operation); error < 0) {
        operations_->end(operation, error);
        return error;
    }
    watch_->begin(*ring_);
    if (when() == Alarm::never) ring_->set_alarm(*this, operation.deadline, false);
    return std::nullopt;
}

int RbdBacking::submit(Buf& buf, Operation& operation) {
    const uint64_t at = buf.offset + buf.moved();
    blkscope_rbd_image* const image = image_->get();
    const bool syncs = buf.op == Buf::Op::flush || buf.step == Buf::Step::sync;
    operation.bytes = buf.resid;
    if (syncs) return librbd_.flush(image, &operation);
    switch (buf.op) {
        case Buf::Op::read:
            return librbd_.read(image, at, buf.resid, operations_->memory_of(operation, buf.resid),
                                &operation);
        case Buf::Op::write:
            return librbd_.write(image, at, buf.resid, buf.data + buf.moved(), buf.fua ? 1 : 0,
                                 &operation);
        case Buf::Op::trim:
            operation.bytes = buf.covers = share_of(buf);
            return librbd_.discard(image, at, buf.covers, &operation);
        case Buf::Op::write_zeroes:
            operation.bytes = buf.covers = share_of(buf);
            return librbd_.write_zeroes(image, at, buf.covers, buf.no_hole ? 1 : 0, &operation);
        case Buf::Op::flush:
        case Buf::Op::cache:
        case Buf::Op::block_status:
            break;
    }
    return -EOPNOTSUPP;
}

// The bytes of one operation of a trim or write_zeroes.
uint64_t RbdBacking::share_of(const Buf& buf) const {
    if (buf.no_hole) return std::min(buf.resid, zeroed_bytes_max);
    return std::min(buf.resid, discarded_objects_max * librbd_.object_bytes(image_->get()));
}

// ---- A request ends ----

void RbdBacking::signalled() {
    collect();
    if (operations_->in_librbd() > 0) watch_->begin(*ring_);
}

void RbdBacking::collect() {
    take_ended(*image_, [this](Operation& operation, int64_t result) {
        if (operation.buf != nullptr) ring_->completed(*operation.buf, outcome(operation, result));
        operations_->end(operation, result);
    });
    note_orphans();
}

// A request of the device lies inside it. So librbd finds one invalid only if the image has been
// made smaller. librbd cuts a write off that crosses the end, and says nothing.
int32_t RbdBacking::outcome(const Operation& operation, int64_t result) {
    const Buf& buf = *operation.buf;
    const bool writes = buf.op != Buf::Op::read && buf.op != Buf::Op::flush;
    if (result == -EINVAL) return writes ? -ENOSPC : -EIO;
    if (result == -ESHUTDOWN) note_blocklisted();
    if (result < 0) return result == -ESHUTDOWN ? -EIO : static_cast<int32_t>(result);
    const uint64_t end = buf.offset + buf.moved() + operation.bytes;
    if (writes && buf.step == Buf::Step::work && end > image_->size_bytes()) return -ENOSPC;
    if (buf.op == Buf::Op::read) {
        const auto moved = std::min(static_cast<uint64_t>(result), operation.bytes);
        std::memcpy(buf.data + buf.moved(), operation.memory.get(), moved);
        return static_cast<int32_t>(moved);
    }
    return buf.op == Buf::Op::write ? static_cast<int32_t>(operation.bytes) : 0;
}

bool RbdBacking::more(Buf& buf) {
    if (!buf.discards() || !buf.fua || buf.error != 0) return false;
    if (buf.step == Buf::Step::sync) return false;
    buf.step = Buf::Step::sync;
    return true;
}

// ---- The cluster does not answer ----

// librbd may still do an operation that it has not done yet, so no data is lost. So a sync that is late is no sync
// that has failed.
int32_t RbdBacking::late(Buf& buf) {
    buf.injected = true;
    kstat_.timed_out();
    return -ETIMEDOUT;
}

void RbdBacking::due() {
    collect();
    while (Buf* const buf = operations_->expire(ring_->now())) ring_->completed(*buf, late(*buf));
    note_orphans();
    ring_->set_alarm(*this, operations_->next_deadline().value_or(Alarm::never), false);
}

void RbdBacking::note_orphans() {
    const uint64_t before = kstat_.orphans();
    const uint64_t now = operations_->orphans();
    if (before == now) return;
    kstat_.orphans_are(now);
    if (before == 0) {
        log_line(text_, ": the cluster does not answer; requests fail");
    } else if (now == 0) {
        log_line(text_, ": the cluster answers again");
    }
}

void RbdBacking::note_blocklisted() {
    if (kstat_.blocklisted()) return;
    kstat_.blocklisted_is();
    log_line(text_, ": the cluster has put this client on its blocklist; reload the server");
}

// ---- Reads of the device itself ----

// The ring may have taken the signal of the event, so the loop also looks without it.
bool RbdBacking::read_now(uint64_t offset, std::span<std::byte> to) {
    if (!reads_now()) return false;
    Operation& operation = operations_->start_awaited();
    const int error = librbd_.read(image_->get(), offset, to.size(),
                                   operations_->memory_of(operation, to.size()), &operation);
    if (error < 0) operations_->end(operation, error);
    const auto until = std::chrono::steady_clock::now() + std::min(options_.patience, read_now_max);
    while (!operation.result && std::chrono::steady_clock::now() < until) {
        pollfd event{image_->event(), POLLIN, 0};
        ::poll(&event, 1, look_interval_ms);
        collect();
    }
    const bool whole = operation.result == static_cast<int64_t>(to.size());
    if (whole) std::memcpy(to.data(), operation.memory.get(), to.size());
    operations_->dismiss(operation);
    note_orphans();
    if (operations_->in_librbd() > 0 && ring_ != nullptr) watch_->begin(*ring_);
    return whole;
}

// ---- Opening ----

std::unique_ptr<Backing> open_rbd(const std::string& spec, const BackingOptions& options) {
    const Place place = parse_place(spec);
    if (options.only_writer) throw std::invalid_argument(place.text() + ": has no crash cache");
    if (!place.snapshot.empty() && !options.read_only) {
        throw std::invalid_argument(place.text() +
                                    ": a snapshot cannot be written; use --read-only");
    }
    const auto patience = options.upstream.timeout;
    auto image =
        open(load(), place, options.read_only, std::chrono::ceil<std::chrono::seconds>(patience));
    if (image->size_bytes() == 0 || image->size_bytes() > size_bytes_max) {
        close(image, std::make_unique<Operations>());
        throw std::invalid_argument(place.text() + ": is empty or too large");
    }
    return std::make_unique<RbdBacking>(std::move(image), place,
                                        RbdBacking::Options{.read_only = options.read_only,
                                                            .patience = patience,
                                                            .orphans_max = options.queue_depth});
}

}  // namespace blkscope::rbd
