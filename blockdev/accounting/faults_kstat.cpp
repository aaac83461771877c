#include "blockdev/accounting/faults_kstat.hpp"

#include <cassert>
#include <cerrno>

#include "base/seqlock.hpp"

namespace blkscope {

FaultsKstat::FaultsKstat(const Subject& subject, const std::vector<model::FaultRules::Entry>& rules,
                         const uint64_t& abandoned)
    : rules_(rules), abandoned_(abandoned) {
    assert(!rules_.empty());
    if (!subject.published()) return;
    const auto record_count = static_cast<uint_t>(1 + 2 * rules_.size());
    kstat_ = make_device_kstat(subject, {"faults", "misc", KSTAT_TYPE_NAMED, record_count}, this,
                               update);
    if (!kstat_) return;
    texts_.reserve(rules_.size());  // the records point at the texts
    kstat_named_t* record = KSTAT_NAMED_PTR(kstat_);
    kstat_named_init(record++, "abandoned", KSTAT_DATA_UINT64);
    for (const model::FaultRules::Entry& entry : rules_) {
        const std::string number = std::to_string(entry.id);
        const std::string& text = texts_.emplace_back(entry.rule.text());
        add_text(*kstat_, *record++, ("rule_" + number).c_str(), text.c_str());
        kstat_named_init(record++, ("hits_" + number).c_str(), KSTAT_DATA_UINT64);
    }
    assert(record == KSTAT_NAMED_PTR(kstat_) + record_count);
    kstat_install(kstat_.get());
}

int FaultsKstat::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& faults = *static_cast<const FaultsKstat*>(ksp->ks_private);
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp);
    (record++)->value.ui64 = observe(faults.abandoned_);
    for (const model::FaultRules::Entry& entry : faults.rules_) {
        ++record;  // the text
        (record++)->value.ui64 = observe(entry.hits);
    }
    assert(record == KSTAT_NAMED_PTR(ksp) + ksp->ks_ndata);
    return 0;
}

}  // namespace blkscope
