#include "tools/kstat/decode.hpp"

#include <algorithm>
#include <array>

#include "tools/kstat/raw.hpp"

namespace blkscope::kstat_command {
namespace {

template <class Record>
const Record* first_record(const kstat_t& ksp) {
    const bool there = ksp.ks_data != nullptr && ksp.ks_data_size >= sizeof(Record);
    return there && ksp.ks_ndata > 0 ? static_cast<const Record*>(ksp.ks_data) : nullptr;
}

Text string_of(const kstat_named_t& record) {
    if (KSTAT_NAMED_STR_PTR(&record) == nullptr) return {};
    return program::string_text(record);
}

std::optional<Value> value_of(const kstat_named_t& record) {
    switch (record.data_type) {
        case KSTAT_DATA_CHAR:
            return Text(field_text(record.value.c));
        case KSTAT_DATA_INT32:
            return int64_t{record.value.i32};
        case KSTAT_DATA_UINT32:
            return uint64_t{record.value.ui32};
        case KSTAT_DATA_INT64:
            return record.value.i64;
        case KSTAT_DATA_UINT64:
            return record.value.ui64;
        case KSTAT_DATA_FLOAT:
            return record.value.f;
        case KSTAT_DATA_DOUBLE:
            return record.value.d;
        case KSTAT_DATA_STRING:
            return string_of(record);
        default:
            return {};
    }
}

std::vector<Statistic> decode_named(const kstat_t& ksp) {
    std::vector<Statistic> statistics;
    const auto* const records = first_record<kstat_named_t>(ksp);
    if (records == nullptr) return statistics;
    const size_t count = std::min<size_t>(ksp.ks_ndata, ksp.ks_data_size / sizeof(*records));
    statistics.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        std::string name = field_text(records[i].name);
        auto value = value_of(records[i]);
        if (!name.empty() && value) statistics.push_back({std::move(name), std::move(*value)});
    }
    return statistics;
}

std::vector<Statistic> decode_intr(const kstat_t& ksp) {
    constexpr std::array names{"hard", "soft", "watchdog", "spurious", "multiple_service"};
    static_assert(names.size() == KSTAT_NUM_INTRS);
    std::vector<Statistic> statistics;
    const auto* const record = first_record<kstat_intr_t>(ksp);
    if (record == nullptr) return statistics;
    for (size_t i = 0; i < names.size(); ++i) {
        statistics.push_back({names[i], uint64_t{record->intrs[i]}});
    }
    return statistics;
}

// The times stay integers: rates are computed from the times, and seconds would lose digits.
std::vector<Statistic> decode_io(const kstat_t& ksp) {
    const auto* const io = first_record<kstat_io_t>(ksp);
    if (io == nullptr) return {};
    return {
        {"nread", uint64_t{io->nread}},
        {"nwritten", uint64_t{io->nwritten}},
        {"reads", uint64_t{io->reads}},
        {"writes", uint64_t{io->writes}},
        {"wtime", int64_t{io->wtime}},
        {"wlentime", int64_t{io->wlentime}},
        {"wlastupdate", int64_t{io->wlastupdate}},
        {"rtime", int64_t{io->rtime}},
        {"rlentime", int64_t{io->rlentime}},
        {"rlastupdate", int64_t{io->rlastupdate}},
        {"wcnt", uint64_t{io->wcnt}},
        {"rcnt", uint64_t{io->rcnt}},
    };
}

std::vector<Statistic> decode_timer(const kstat_t& ksp) {
    const auto* const timer = first_record<kstat_timer_t>(ksp);
    if (timer == nullptr) return {};
    return {
        {"name", Text(field_text(timer->name))},        {"num_events", uint64_t{timer->num_events}},
        {"elapsed_time", int64_t{timer->elapsed_time}}, {"min_time", int64_t{timer->min_time}},
        {"max_time", int64_t{timer->max_time}},         {"start_time", int64_t{timer->start_time}},
        {"stop_time", int64_t{timer->stop_time}},
    };
}

}  // namespace

std::vector<Statistic> decode(const kstat_t& ksp) {
    switch (ksp.ks_type) {
        case KSTAT_TYPE_RAW:
            return decode_raw(ksp);
        case KSTAT_TYPE_NAMED:
            return decode_named(ksp);
        case KSTAT_TYPE_INTR:
            return decode_intr(ksp);
        case KSTAT_TYPE_IO:
            return decode_io(ksp);
        case KSTAT_TYPE_TIMER:
            return decode_timer(ksp);
        default:
            return {};
    }
}

}  // namespace blkscope::kstat_command
