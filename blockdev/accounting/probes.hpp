// Probes: the steps of each request as static tracepoints, for bpftrace and other tracers.
//
//     probe                    when
//     request__received        the server has read the last byte of the request's header, and
//                              has not refused the request
//     queue__enter             the device has accepted the request
//     io__start                the request leaves the wait queue
//     io__done                 the request has ended, with or without an error
//     reply__sent              the socket has taken the last byte of the reply
//     fault__hit               a fault rule applies to the request
//
// All probes have the same eight arguments. The first ones are the numbers of the device, of
// the client (or 0) and of the operation in Buf::Op. Then come offset, bytes, wait, service
// and error. A number that is not known yet is 0.
//
// When a program attaches to a probe, the probe's semaphore is incremented. Without such a program
// a probe costs one load and one branch that is not taken. A build without <sys/sdt.h> has
// no probes, and at() is empty there.
//
// Units:     bytes; nanoseconds; an errno.
// Ownership: borrows the request for the call.
// Threads:   the worker that has the request.
// Errors:    none.
// Source:    <sys/sdt.h> of SystemTap; "Documentation/trace/uprobetracer.rst" of Linux.
#pragma once

#include <cstdint>

#include "base/seqlock.hpp"
#include "blockdev/accounting/subject.hpp"
#include "blockdev/queue/buf.hpp"

#if BLKSCOPE_PROBES
// <sys/sdt.h> names these variables in the notes that tracers read.
extern "C" {
#define BLKSCOPE_SEMAPHORE(probe) \
    [[gnu::visibility("hidden")]] extern volatile uint16_t blkscope_##probe##_semaphore
BLKSCOPE_SEMAPHORE(request__received);
BLKSCOPE_SEMAPHORE(queue__enter);
BLKSCOPE_SEMAPHORE(io__start);
BLKSCOPE_SEMAPHORE(io__done);
BLKSCOPE_SEMAPHORE(reply__sent);
BLKSCOPE_SEMAPHORE(fault__hit);
#undef BLKSCOPE_SEMAPHORE
}
#endif

namespace blkscope {

enum class Probe : uint8_t {
    request_received,
    queue_enter,
    io_start,
    io_done,
    reply_sent,
    fault_hit
};

namespace probes {

#if BLKSCOPE_PROBES

inline bool is_attached(Probe probe) {
    switch (probe) {
        case Probe::request_received:
            return blkscope_request__received_semaphore != 0;
        case Probe::queue_enter:
            return blkscope_queue__enter_semaphore != 0;
        case Probe::io_start:
            return blkscope_io__start_semaphore != 0;
        case Probe::io_done:
            return blkscope_io__done_semaphore != 0;
        case Probe::reply_sent:
            return blkscope_reply__sent_semaphore != 0;
        case Probe::fault_hit:
            return blkscope_fault__hit_semaphore != 0;
    }
    return false;
}

[[gnu::cold]] void fire(Probe probe, int device, const Buf& buf, int error);

/// The request has reached the probe.
inline void at(Probe probe, int device, const Buf& buf, int error) {
    if (is_attached(probe)) [[unlikely]]
        fire(probe, device, buf, error);
}

#else

inline void at(Probe /*probe*/, int /*device*/, const Buf& /*buf*/, int /*error*/) {}

#endif

}  // namespace probes

/// The probes of a request in its device, as an observer.
class DeviceProbes {
  public:
    DeviceProbes(const Seqlock& /*seq*/, const Subject& subject) : device_(subject.instance) {}

    void entered(const Buf& buf) { probes::at(Probe::queue_enter, device_, buf, 0); }
    void started(const Buf& buf) { probes::at(Probe::io_start, device_, buf, 0); }
    void after_end(const Buf& buf) { probes::at(Probe::io_done, device_, buf, buf.error); }
    void replied(const Buf& buf) { probes::at(Probe::reply_sent, device_, buf, buf.error); }

  private:
    const int device_;
};

}  // namespace blkscope
