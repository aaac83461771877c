#include "blockdev/accounting/probes.hpp"

#if BLKSCOPE_PROBES

#include <cassert>

#include "base/clock.hpp"
#include "blockdev/queue/client.hpp"

#define _SDT_HAS_SEMAPHORES 1  // NOLINT(bugprone-reserved-identifier): the header's own name
#include <sys/sdt.h>

// The kernel finds a semaphore by its place in the file, so it has a section of its own.
extern "C" {
#define BLKSCOPE_SEMAPHORE(probe) \
    [[gnu::section(".probes"), gnu::used]] volatile uint16_t blkscope_##probe##_semaphore = 0
BLKSCOPE_SEMAPHORE(request__received);
BLKSCOPE_SEMAPHORE(queue__enter);
BLKSCOPE_SEMAPHORE(io__start);
BLKSCOPE_SEMAPHORE(io__done);
BLKSCOPE_SEMAPHORE(reply__sent);
BLKSCOPE_SEMAPHORE(fault__hit);
#undef BLKSCOPE_SEMAPHORE
}

// bpftrace 0.17 reads six arguments on x86-64. The other two have registers that it reads by name.
#ifdef __x86_64__
#define BLKSCOPE_PINNED(name, place) register int64_t name asm(place)
#else
#define BLKSCOPE_PINNED(name, place) const int64_t name
#endif

namespace blkscope::probes {

#define BLKSCOPE_FIRE(name) \
    DTRACE_PROBE8(blkscope, name, number, client, op, offset, bytes, wait_ns, service_ns, failure)

// A request that is not done may still have the later stamps of an earlier one.
void fire(Probe probe, int device, const Buf& buf, int error) {
    const auto number = static_cast<int64_t>(device);
    const auto client = static_cast<int64_t>(buf.client != nullptr ? buf.client->number : 0);
    const auto op = static_cast<int64_t>(buf.op);
    const auto offset = static_cast<int64_t>(buf.offset);
    const auto bytes = static_cast<int64_t>(buf.bcount);
    const bool starts = probe == Probe::io_start || probe == Probe::fault_hit;
    const bool ends = probe == Probe::io_done || probe == Probe::reply_sent;
    const int64_t wait_ns = starts || ends ? to_ns(buf.started - buf.queued) : 0;
    const int64_t served_ns = ends ? to_ns(buf.finished - buf.started) : 0;
    // Nothing may be called from here on: a call may change the registers.
    BLKSCOPE_PINNED(service_ns, "r14") = served_ns;
    BLKSCOPE_PINNED(failure, "r15") = error;
    switch (probe) {
        case Probe::request_received:
            BLKSCOPE_FIRE(request__received);
            return;
        case Probe::queue_enter:
            BLKSCOPE_FIRE(queue__enter);
            return;
        case Probe::io_start:
            BLKSCOPE_FIRE(io__start);
            return;
        case Probe::io_done:
            BLKSCOPE_FIRE(io__done);
            return;
        case Probe::reply_sent:
            BLKSCOPE_FIRE(reply__sent);
            return;
        case Probe::fault_hit:
            BLKSCOPE_FIRE(fault__hit);
            return;
    }
    assert(false);
}

#undef BLKSCOPE_FIRE
#undef BLKSCOPE_PINNED

}  // namespace blkscope::probes

#endif
