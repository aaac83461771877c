#include "blockdev/accounting/command_counts.hpp"

#include <cassert>
#include <cerrno>

namespace blkscope {

CommandCounts::CommandCounts(const Seqlock&, const Subject& subject) {
    if (!subject.published()) return;
    constexpr size_t record_count = OpCounts::record_count + other_records().size();
    kstat_ = create_device_kstat(subject, {"cmds", "misc", KSTAT_TYPE_NAMED, record_count}, this,
                                 update);
    kstat_named_t* record = OpCounts::name_records(KSTAT_NAMED_PTR(kstat_));
    for (const OtherRecord& other : other_records()) {
        kstat_named_init(record++, other.name, KSTAT_DATA_UINT64);
    }
    assert(record == KSTAT_NAMED_PTR(kstat_) + record_count);
    kstat_install(kstat_.get());
}

void CommandCounts::connection_opened() {
    add(connections_, 1);
    add(connections_total_, 1);
}

void CommandCounts::connection_closed() {
    assert(connections_ > 0);
    publish(connections_, connections_ - 1);
}

int CommandCounts::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& counts = *static_cast<const CommandCounts*>(ksp->ks_private);
    kstat_named_t* record = counts.operations_.fill_records(KSTAT_NAMED_PTR(ksp));
    for (const OtherRecord& other : other_records()) {
        (record++)->value.ui64 = observe(counts.*other.count);
    }
    assert(record == KSTAT_NAMED_PTR(ksp) + ksp->ks_ndata);
    return 0;
}

}  // namespace blkscope
