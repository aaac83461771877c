#include "kstat/registry/templates.hpp"

namespace blkscope::kstat2 {
namespace {

using Fields = std::vector<Field>;

constexpr uint64_t ns_per_second = 1'000'000'000;

Field field(const char* name, const char* descr, Metadata md) {
    md.descr = descr;
    return {name, KSTAT2_NVVT_INT, std::move(md)};
}

Field count(const char* name, const char* descr) {
    return field(name, descr, {KSTAT2_NVMT_CNT, KSTAT2_NVMF_NONE, 1, KSTAT_DATA_UINT64, {}});
}

Field bytes(const char* name, const char* descr) {
    return field(name, descr, {KSTAT2_NVMT_BYTES, KSTAT2_NVMF_NONE, 1, KSTAT_DATA_UINT64, {}});
}

Field state(const char* name, const char* descr) {
    return field(name, descr, {KSTAT2_NVMT_STATE, KSTAT2_NVMF_NONE, 1, KSTAT_DATA_UINT32, {}});
}

Field duration(const char* name, const char* descr) {
    return field(name, descr,
                 {KSTAT2_NVMT_T_ACC, KSTAT2_NVMF_FRACT, ns_per_second, KSTAT_DATA_INT64, {}});
}

Field moment(const char* name, const char* descr) {
    return field(name, descr,
                 {KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, ns_per_second, KSTAT_DATA_INT64, {}});
}

// A duration that is not a sum, such as a minimum or maximum.
Field extreme(const char* name, const char* descr) {
    Field limit = duration(name, descr);
    limit.md.flags |= KSTAT2_NVMF_LIMIT;
    return limit;
}

Fields queue_fields() {
    return {duration("wtime", "time that requests were waiting"),
            duration("wlentime", "time that requests waited, of all together"),
            moment("wlastupdate", "when the wait queue last changed"),
            duration("rtime", "time that requests were running"),
            duration("rlentime", "time that requests ran, of all together"),
            moment("rlastupdate", "when the run queue last changed"),
            state("wcnt", "requests waiting now"),
            state("rcnt", "requests running now")};
}

Fields io_fields() {
    Fields fields{bytes("nread", "bytes read"), bytes("nwritten", "bytes written"),
                  count("reads", "read operations"), count("writes", "write operations")};
    for (Field& field : queue_fields()) fields.push_back(std::move(field));
    return fields;
}

Fields intr_fields() {
    return {count("hard", "interrupts from the device"), count("soft", "interrupts from software"),
            count("watchdog", "interrupts from a timer"),
            count("spurious", "interrupts for nobody"),
            count("multsvc", "devices serviced in one interrupt beyond the first")};
}

Fields timer_fields() {
    return {count("num_events", "events timed"),
            duration("elapsed_time", "time of all events together"),
            extreme("min_time", "time of the shortest event"),
            extreme("max_time", "time of the longest event"),
            moment("start_time", "when the last event began"),
            moment("stop_time", "when the last event ended")};
}

}  // namespace
}  // namespace blkscope::kstat2

extern "C" kstat2_template_t* kstat2_lookup_template(uint32_t id) {
    using namespace blkscope::kstat2;
    // Leaked, because threads may outlive main.
    static kstat2_template_t* const templates = new kstat2_template_t[]{
        {KSTAT2_MT_QUEUE, queue_fields()},
        {KSTAT2_MT_IO, io_fields()},
        {KSTAT2_MT_INTR, intr_fields()},
        {KSTAT2_MT_TIMER, timer_fields()},
    };
    return id >= KSTAT2_MT_QUEUE && id <= KSTAT2_MT_TIMER ? &templates[id - KSTAT2_MT_QUEUE]
                                                          : nullptr;
}
