#include "blockdev/accounting/limits_kstat.hpp"

#include <cassert>
#include <cerrno>
#include <utility>

namespace blkscope {
namespace {

constexpr uint_t records_per_bucket = 3;

uint_t records_of(const model::LimitSpec& spec) {
    uint_t count = 1;  // the text
    for (const auto& rate : spec.rates) count += rate ? records_per_bucket : 0;
    return count;
}

void init_record(kstat_named_t& record, const std::string& name, uchar_t type) {
    kstat_named_init(&record, name.c_str(), type);
}

}  // namespace

LimitsKstat::LimitsKstat(const Subject& subject, const model::LimitSpec& spec, Reader reader)
    : spec_(spec.text()), reader_(std::move(reader)) {
    assert(reader_ != nullptr);
    if (!subject.published()) return;
    kstat_ = make_device_kstat(subject, {"limits", "misc", KSTAT_TYPE_NAMED, records_of(spec)},
                               this, update);
    if (!kstat_) return;
    kstat_named_t* record = KSTAT_NAMED_PTR(kstat_);
    add_text(*kstat_, *record++, "spec", spec_.c_str());
    for (size_t i = 0; i < spec.rates.size(); ++i) {
        if (!spec.rates[i]) continue;
        const std::string name(model::LimitSpec::names[i]);
        init_record(*record, name + "_rate", KSTAT_DATA_UINT64);
        (record++)->value.ui64 = spec.rates[i]->base;
        init_record(*record++, name + "_level", KSTAT_DATA_INT64);
        init_record(*record++, name + "_exceeded_ns", KSTAT_DATA_UINT64);
    }
    assert(record == KSTAT_NAMED_PTR(kstat_) + kstat_->ks_ndata);
    kstat_install(kstat_.get());
}

int LimitsKstat::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const Copy copy = static_cast<const LimitsKstat*>(ksp->ks_private)->reader_();
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp) + 1;  // behind the text
    const auto& rates = copy.limits.spec().rates;
    for (size_t i = 0; i < rates.size(); ++i) {
        if (!rates[i]) continue;
        const auto name = static_cast<model::LimitSpec::Name>(i);
        ++record;  // the rate
        (record++)->value.i64 = copy.limits.level(name, copy.now);
        (record++)->value.ui64 = copy.limits.exceeded_ns(name, copy.now);
    }
    assert(record == KSTAT_NAMED_PTR(ksp) + ksp->ks_ndata);
    return 0;
}

}  // namespace blkscope
