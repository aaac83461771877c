// The functions with which a provider fills its records: names, strings, timers.
#include <sys/kstat.h>

#include <cstring>

#include "kstat/registry/report.hpp"

extern "C" {

void kstat_set_string(char* dst, const char* src) {
    // The whole field is cleared: names are compared, copied and sent as 31 bytes.
    std::memset(dst, 0, KSTAT_STRLEN);
    std::memcpy(dst, src, strnlen(src, KSTAT_STRLEN - 1));
}

void kstat_named_init(kstat_named_t* knp, const char* name, uchar_t data_type) {
    kstat_set_string(knp->name, name);
    knp->data_type = data_type;
    if (data_type == KSTAT_DATA_STRING) kstat_named_setstr(knp, nullptr);
}

void kstat_named_setstr(kstat_named_t* knp, const char* src) {
    if (knp->data_type != KSTAT_DATA_STRING) {
        blkscope::kstat::panic("kstat_named_setstr: '%.30s' is not a string", knp->name);
    }
    KSTAT_NAMED_STR_PTR(knp) = const_cast<char*>(src);
    KSTAT_NAMED_STR_BUFLEN(knp) = src == nullptr ? 0 : static_cast<uint32_t>(std::strlen(src) + 1);
}

void kstat_timer_init(kstat_timer_t* ktp, const char* name) {
    kstat_set_string(ktp->name, name);
}

void kstat_timer_start(kstat_timer_t* ktp) {
    ktp->start_time = gethrtime();
}

void kstat_timer_stop(kstat_timer_t* ktp) {
    ktp->stop_time = gethrtime();
    const hrtime_t elapsed = ktp->stop_time - ktp->start_time;
    if (elapsed < ktp->min_time || ktp->num_events == 0) ktp->min_time = elapsed;
    if (elapsed > ktp->max_time) ktp->max_time = elapsed;
    ktp->elapsed_time += elapsed;
    ++ktp->num_events;
}

}  // extern "C"
