#include "blockdev/accounting/command_counts.hpp"

#include <cerrno>
#include <string>

namespace blkscope {

CommandCounts::CommandCounts(const Seqlock&, const Subject& subject) {
    if (!subject.published()) return;
    const size_t record_count = Buf::op_count * op_records().size() + other_records().size();
    kstat_ = create_device_kstat(subject, {"cmds", "misc", KSTAT_TYPE_NAMED, record_count}, this,
                                 update);
    kstat_named_t* record = KSTAT_NAMED_PTR(kstat_);
    for (size_t i = 0; i < Buf::op_count; ++i) {
        const std::string op = Buf::name_of(static_cast<Buf::Op>(i));
        for (const OpRecord& per_op : op_records()) {
            const std::string name = op + "_" + per_op.name;
            kstat_named_init(record++, name.c_str(), KSTAT_DATA_UINT64);
        }
    }
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
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp);
    const auto put = [&](const uint64_t& count) { (record++)->value.ui64 = observe(count); };
    for (const Counters& counters : counts.counters_) {
        for (const OpRecord& per_op : op_records()) put(counters.*per_op.count);
    }
    for (const OtherRecord& other : other_records()) put(counts.*other.count);
    assert(record == KSTAT_NAMED_PTR(ksp) + ksp->ks_ndata);
    return 0;
}

}  // namespace blkscope
