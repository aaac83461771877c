#include "blockdev/accounting/op_counts.hpp"

#include <string>

namespace blkscope {

void OpCounts::take_over(const OpCounts& other) {
    for (size_t i = 0; i < counters_.size(); ++i) {
        for (const Record& each : records) {
            add(counters_[i].*each.count, other.counters_[i].*each.count);
        }
    }
}

kstat_named_t* OpCounts::name_records(kstat_named_t* record) {
    for (size_t i = 0; i < Buf::op_count; ++i) {
        const std::string op = Buf::name_of(static_cast<Buf::Op>(i));
        for (const Record& each : records) {
            const std::string name = op + "_" + each.name;
            kstat_named_init(record++, name.c_str(), KSTAT_DATA_UINT64);
        }
    }
    return record;
}

kstat_named_t* OpCounts::fill_records(kstat_named_t* record) const {
    for (const Counters& counters : counters_) {
        for (const Record& each : records) (record++)->value.ui64 = observe(counters.*each.count);
    }
    return record;
}

}  // namespace blkscope
