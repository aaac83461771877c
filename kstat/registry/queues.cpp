// The six queue functions of kstat_queue(9F): one clock reading, then the arithmetic of queues.hpp.

#include "kstat/registry/queues.hpp"

namespace transitions = blkscope::kstat;

extern "C" {

void kstat_waitq_enter(kstat_io_t* kiop) {
    transitions::waitq_enter(*kiop, gethrtime_unscaled());
}

void kstat_waitq_exit(kstat_io_t* kiop) {
    transitions::waitq_exit(*kiop, gethrtime_unscaled());
}

void kstat_runq_enter(kstat_io_t* kiop) {
    transitions::runq_enter(*kiop, gethrtime_unscaled());
}

void kstat_runq_exit(kstat_io_t* kiop) {
    transitions::runq_exit(*kiop, gethrtime_unscaled());
}

void kstat_waitq_to_runq(kstat_io_t* kiop) {
    transitions::waitq_to_runq(*kiop, gethrtime_unscaled());
}

void kstat_runq_back_to_waitq(kstat_io_t* kiop) {
    transitions::runq_back_to_waitq(*kiop, gethrtime_unscaled());
}

}  // extern "C"
