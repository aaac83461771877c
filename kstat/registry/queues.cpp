// The six queue functions of each framework: one clock reading, then the arithmetic of queues.hpp.
//
// Source: kstat_queue(9F).
#include "kstat/registry/queues.hpp"

#include "base/clock.hpp"

namespace blkscope::kstat {
namespace {

// The times of a kstat2_io_t are nanoseconds: some providers compute their pairs in ks2_update, and
// others call these functions. Both then use the same unit.
hrtime_t ordered_ns() {
    return to_ns(gethrtime_unscaled());
}

}  // namespace

extern "C" {

void kstat_waitq_enter(kstat_io_t* kiop) {
    waitq_enter(*kiop, gethrtime_unscaled());
}

void kstat_waitq_exit(kstat_io_t* kiop) {
    waitq_exit(*kiop, gethrtime_unscaled());
}

void kstat_runq_enter(kstat_io_t* kiop) {
    runq_enter(*kiop, gethrtime_unscaled());
}

void kstat_runq_exit(kstat_io_t* kiop) {
    runq_exit(*kiop, gethrtime_unscaled());
}

void kstat_waitq_to_runq(kstat_io_t* kiop) {
    waitq_to_runq(*kiop, gethrtime_unscaled());
}

void kstat_runq_back_to_waitq(kstat_io_t* kiop) {
    runq_back_to_waitq(*kiop, gethrtime_unscaled());
}

void kstat2_waitq_enter(kstat2_io_t* kiop) {
    waitq_enter(*kiop, ordered_ns());
}

void kstat2_waitq_exit(kstat2_io_t* kiop) {
    waitq_exit(*kiop, ordered_ns());
}

void kstat2_runq_enter(kstat2_io_t* kiop) {
    runq_enter(*kiop, ordered_ns());
}

void kstat2_runq_exit(kstat2_io_t* kiop) {
    runq_exit(*kiop, ordered_ns());
}

void kstat2_waitq_to_runq(kstat2_io_t* kiop) {
    waitq_to_runq(*kiop, ordered_ns());
}

void kstat2_runq_back_to_waitq(kstat2_io_t* kiop) {
    runq_back_to_waitq(*kiop, ordered_ns());
}

}  // extern "C"

}  // namespace blkscope::kstat
