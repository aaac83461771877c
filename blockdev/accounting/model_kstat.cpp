#include "blockdev/accounting/model_kstat.hpp"

#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/clock.hpp"

namespace blkscope {
namespace {

struct Record {
    const char* name;
    uint64_t ModelCounts::*count;
};
constexpr std::array records{Record{"seed", &ModelCounts::seed},
                             Record{"servers", &ModelCounts::servers},
                             Record{"drawn", &ModelCounts::drawn},
                             Record{"overruns", &ModelCounts::overruns},
                             Record{"overrun_ns", &ModelCounts::overrun_ns},
                             Record{"late_ns", &ModelCounts::late_ns}};

}  // namespace

ModelKstat::ModelKstat(const Subject& subject, std::string spec, ModelCounts& counts)
    : spec_(std::move(spec)), counts_(counts) {
    assert(counts_.servers > 0);
    if (!subject.published()) return;
    publish_counts(subject);
    publish_lateness(subject);
}

void ModelKstat::publish_counts(const Subject& subject) {
    kstat_ = make_device_kstat(subject, {"model", "misc", KSTAT_TYPE_NAMED, 1 + records.size()},
                               this, update);
    if (!kstat_) return;
    kstat_named_t* record = KSTAT_NAMED_PTR(kstat_);
    add_text(*kstat_, *record++, "spec", spec_.c_str());
    for (const Record& count : records) kstat_named_init(record++, count.name, KSTAT_DATA_UINT64);
    kstat_install(kstat_.get());
}

void ModelKstat::publish_lateness(const Subject& subject) {
    constexpr kstat2::Buckets shape = ModelCounts::lateness_steps;
    const std::string instance = std::to_string(subject.instance);
    std::array<const char*, 5> path{"disk", device_module, subject.name.c_str(), instance.c_str(),
                                    "model_lateness"};
    lateness_.reset(kstat2_create_histogram(
        path.data(), path.size(), ALL_ZONES, shape.type(), KSTAT2_NVMT_T_ACC, ns_per_s,
        KSTAT2_NVMF_FRACT, counts_.lateness.data(), static_cast<uint16_t>(shape.count()),
        shape.range_min(), shape.range_max(), shape.stepping(), 0,
        "requests by how late after their planned end they ended", KSTAT2_MF_STABLE));
    if (lateness_) kstat2_install(lateness_.get());
}

int ModelKstat::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& model = *static_cast<const ModelKstat*>(ksp->ks_private);
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp) + 1;  // behind the text
    for (const Record& count : records) {
        (record++)->value.ui64 = observe(model.counts_.*count.count);
    }
    assert(record == KSTAT_NAMED_PTR(ksp) + ksp->ks_ndata);
    return 0;
}

}  // namespace blkscope
