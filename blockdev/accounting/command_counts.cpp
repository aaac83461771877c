#include "blockdev/accounting/command_counts.hpp"

#include <cassert>
#include <cerrno>
#include <string>

namespace blkscope {
namespace {

// The names of the records, in order. Operations have the order of Buf::Op.
constexpr std::array<const char*, Buf::op_count> op_names{
    "read", "write", "flush", "trim", "write_zeroes", "cache", "block_status"};
constexpr std::array<const char*, 3> per_op_names{"requests", "bytes", "errors"};
constexpr std::array<const char*, 4> other_names{"syncs", "connections", "connections_total",
                                                 "sync_error"};
constexpr size_t record_count = op_names.size() * per_op_names.size() + other_names.size();

}  // namespace

CommandCounts::CommandCounts(const kstat::Seqlock&, const Subject& subject) {
    if (!subject.published()) return;
    kstat_ = create_device_kstat(subject, {"cmds", "misc", KSTAT_TYPE_NAMED, record_count}, this,
                                 update);
    kstat_named_t* record = KSTAT_NAMED_PTR(kstat_);
    for (const char* op : op_names) {
        for (const char* what : per_op_names) {
            const std::string name = std::string(op) + "_" + what;
            kstat_named_init(record++, name.c_str(), KSTAT_DATA_UINT64);
        }
    }
    for (const char* name : other_names) kstat_named_init(record++, name, KSTAT_DATA_UINT64);
    assert(record == KSTAT_NAMED_PTR(kstat_) + record_count);
    kstat_install(kstat_.get());
}

void CommandCounts::connection_opened() {
    add(connections_, 1);
    add(connections_total_, 1);
}

void CommandCounts::connection_closed() {
    assert(connections_ > 0);
    kstat::publish(connections_, connections_ - 1);
}

int CommandCounts::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& counts = *static_cast<const CommandCounts*>(ksp->ks_private);
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp);
    const auto put = [&](const uint64_t& count) { (record++)->value.ui64 = kstat::observe(count); };
    for (const Counters& counters : counts.counters_) {
        put(counters.requests);
        put(counters.bytes);
        put(counters.errors);
    }
    put(counts.syncs_);
    put(counts.connections_);
    put(counts.connections_total_);
    put(counts.sync_error_);
    assert(record == KSTAT_NAMED_PTR(ksp) + record_count);
    return 0;
}

}  // namespace blkscope
