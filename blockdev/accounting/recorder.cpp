#include "blockdev/accounting/recorder.hpp"

#include <algorithm>
#include <cassert>

#include "blockdev/device/device.hpp"
#include "blockdev/device/lane.hpp"
#include "blockdev/queue/client.hpp"

namespace blkscope {
namespace {

static_assert(static_cast<uint8_t>(Buf::Op::trim) == static_cast<uint8_t>(trace::Op::trim));

// Records that a reader copies before it looks at the head again.
constexpr size_t records_at_once = 256;

uint64_t packed(uint64_t low, uint64_t high) {
    return low | high << 32;
}

uint8_t flags_of(const Buf& buf) {
    return static_cast<uint8_t>((buf.fua ? trace::flag::fua : 0) |
                                (buf.no_hole ? trace::flag::no_hole : 0) |
                                (buf.fast_zero ? trace::flag::fast_zero : 0));
}

// A device that publishes nothing has a negative instance.
uint32_t device_number(int instance) {
    return static_cast<uint32_t>(std::max(instance, 0));
}

uint32_t client_of(const Buf& buf) {
    return buf.client != nullptr ? buf.client->number : 0;
}

// The processor may read its counter a little early, so two close stamps may be swapped.
void put_in_order(trace::Request& request) {
    request.received = std::min(request.received, request.queued);
    if (request.started > 0) request.started = std::max(request.started, request.queued);
    if (request.finished > 0) request.finished = std::max(request.finished, request.started);
    if (request.replied > 0) request.replied = std::max(request.replied, request.finished);
}

}  // namespace

// A release of each word: a reader that sees a new word also sees the head before it.
void Recorder::store(Slot& slot, const Buf& buf) {
    const auto put = [&](size_t at, auto value) {
        publish(slot[at], static_cast<uint64_t>(value));
    };
    put(0, buf.received);
    put(1, buf.queued);
    put(2, buf.started);
    put(3, buf.finished);
    put(4, buf.replied);
    put(5, buf.drawn_ns);
    put(6, buf.offset);
    put(7, buf.bcount);
    assert(buf.lane != nullptr);
    put(8, packed(device_number(buf.lane->device().instance()), client_of(buf)));
    const auto error = static_cast<uint64_t>(static_cast<uint16_t>(buf.error));
    put(9, packed(buf.depth_on_arrival, error | static_cast<uint64_t>(buf.op) << 16 |
                                            static_cast<uint64_t>(flags_of(buf)) << 24));
    put(10, buf.cookie);
    put(11, buf.upstream_cookie);
}

void Recorder::map_and_record(const Buf& buf) {
    if (failed_) return;
    failed_ = memory_.emplace(records_ * sizeof(Slot)).start() == nullptr;
    if (failed_) return;
    slots_.store(reinterpret_cast<Slot*>(memory_->start()), std::memory_order_release);
    record(buf);
}

trace::Request Recorder::request_of(const Slot& slot) const {
    const auto ns = [&](uint64_t ticks) {
        return ticks > 0 ? int64_t{kernel_ns(kernel_, static_cast<hrtime_t>(ticks))} : 0;
    };
    trace::Request request{.received = ns(slot[0]),
                           .queued = ns(slot[1]),
                           .started = ns(slot[2]),
                           .finished = ns(slot[3]),
                           .replied = ns(slot[4]),
                           .drawn_ns = slot[5],
                           .offset = slot[6],
                           .bytes = slot[7],
                           .cookie = slot[10],
                           .upstream_cookie = slot[11],
                           .device = static_cast<uint32_t>(slot[8]),
                           .client = static_cast<uint32_t>(slot[8] >> 32),
                           .depth = static_cast<uint32_t>(slot[9]),
                           .error = static_cast<uint16_t>(slot[9] >> 32),
                           .op = static_cast<trace::Op>(slot[9] >> 48 & 0xff),
                           .flags = static_cast<uint8_t>(slot[9] >> 56)};
    put_in_order(request);
    return request;
}

// While record h is being written, the head is still h. So record h - records_ may be damaged.
Recorder::Read Recorder::read(uint64_t from, size_t records_max, uint32_t device,
                              std::vector<trace::Request>& requests) const {
    const uint64_t head_before = head();
    const uint64_t oldest = head_before - std::min<uint64_t>(head_before, records_);
    Read result{.next = std::min(from, head_before), .lost = 0};
    if (result.next < oldest) {
        result.lost = oldest - result.next;
        result.next = oldest;
    }
    const uint64_t until = std::min(head_before, result.next + records_max);
    std::array<Slot, records_at_once> copies;
    while (result.next < until) {
        const Slot* const slots = slots_.load(std::memory_order_acquire);
        assert(slots != nullptr);
        const uint64_t first = result.next;
        const auto count = static_cast<size_t>(std::min<uint64_t>(until - first, records_at_once));
        for (size_t i = 0; i < count; ++i) {
            const Slot& slot = slots[(first + i) % records_];
            for (size_t at = 0; at < slot.size(); ++at) copies[i][at] = observe(slot[at]);
        }
        const uint64_t now = head();
        for (size_t i = 0; i < count; ++i) {
            if (first + i + records_ <= now) {
                ++result.lost;
            } else if (static_cast<uint32_t>(copies[i][8]) == device) {
                requests.push_back(request_of(copies[i]));
            }
        }
        result.next = first + count;
    }
    return result;
}

// The device has set nothing of a request that it has not accepted yet.
trace::Request recorded(const Kernel& kernel, const Buf& buf, int instance) {
    const bool accepted = buf.queued > 0;
    const auto ns = [&](hrtime_t ticks) {
        return ticks > 0 ? int64_t{kernel_ns(kernel, ticks)} : 0;
    };
    trace::Request request{.received = ns(buf.received),
                           .queued = ns(buf.queued),
                           .started = ns(buf.started),
                           .finished = ns(buf.finished),
                           .replied = ns(buf.replied),
                           .drawn_ns = accepted ? buf.drawn_ns : 0,
                           .offset = buf.offset,
                           .bytes = buf.bcount,
                           .cookie = buf.cookie,
                           .upstream_cookie = accepted ? buf.upstream_cookie : 0,
                           .device = device_number(instance),
                           .client = client_of(buf),
                           .depth = accepted ? buf.depth_on_arrival : 0,
                           .error = static_cast<uint16_t>(accepted ? buf.error : 0),
                           .op = static_cast<trace::Op>(buf.op),
                           .flags = flags_of(buf)};
    if (accepted) put_in_order(request);
    return request;
}

}  // namespace blkscope
