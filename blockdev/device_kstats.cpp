// What a device publishes. Readers come on the kstat server's thread; the worker goes on meanwhile.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <kstat/clock.hpp>
#include <kstat/queues.hpp>
#include <kstat/seqlock.hpp>
#include <kstat/snapshot.hpp>
#include <stdexcept>

#include "blockdev/device.hpp"

namespace blkscope {
namespace {

constexpr const char* module_name = "nbd";

// The records of `cmds`, in order; per operation in the order of Buf::Op.
constexpr std::array<const char*, Buf::op_count> op_names{"read", "write", "flush", "trim"};
constexpr std::array<const char*, 3> per_op_names{"requests", "bytes", "errors"};
constexpr std::array<const char*, 3> other_names{"syncs", "connections", "connections_total"};
constexpr size_t cmds_records = op_names.size() * per_op_names.size() + other_names.size();

kstat_t* create(int instance, const std::string& name, const char* ks_class, uchar_t type,
                uint_t records, uchar_t flags) {
    kstat_t* ksp =
        kstat_create(module_name, instance, name.c_str(), ks_class, type, records, flags);
    if (ksp == nullptr) throw std::runtime_error("create kstat nbd:" + name);
    return ksp;
}

void name_cmds(kstat_named_t* record) {
    for (const char* op : op_names) {
        for (const char* what : per_op_names) {
            const std::string name = std::string(op) + "_" + what;
            kstat_named_init(record++, name.c_str(), KSTAT_DATA_UINT64);
        }
    }
    for (const char* name : other_names) kstat_named_init(record++, name, KSTAT_DATA_UINT64);
}

}  // namespace

void Device::publish_kstats(int instance) {
    // Virtual: the data is the device's own, in ticks; snapshot_io copies and scales it.
    io_kstat_ = create(instance, name_, "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_VIRTUAL);
    io_kstat_->ks_data = &io_;
    io_kstat_->ks_private = this;
    io_kstat_->ks_snapshot = snapshot_io;

    cmds_kstat_ = create(instance, name_ + ",cmds", "misc", KSTAT_TYPE_NAMED, cmds_records, 0);
    cmds_kstat_->ks_private = this;
    cmds_kstat_->ks_update = update_cmds;
    name_cmds(KSTAT_NAMED_PTR(cmds_kstat_));

    kstat_install(io_kstat_);
    kstat_install(cmds_kstat_);
}

Device::~Device() {
    kstat_delete(cmds_kstat_);
    kstat_delete(io_kstat_);
}

int Device::snapshot_io(kstat_t* ksp, void* out, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& device = *static_cast<const Device*>(ksp->ks_private);
    // The worker opens its write before it reads the clock. So once its stores are visible, a
    // transition that was stamped before `now` is in the copy, or holds the copy up until it is.
    // One that was stamped after `now` may be in it too: then its moment is the snapshot's.
    const hrtime_t asked = kstat::now_unscaled();
    kstat::make_stores_visible();
    const kstat_io_t copy = device.seq_.read([&] { return kstat::observe(device.io_); });
    const hrtime_t now = std::max({asked, copy.wlastupdate, copy.rlastupdate});
    const kstat_io_t scaled = kstat::io_snapshot(copy, now);
    ksp->ks_snaptime = kstat::to_ns(now);
    std::memcpy(out, &scaled, sizeof scaled);
    return 0;
}

int Device::update_cmds(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& device = *static_cast<const Device*>(ksp->ks_private);
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp);
    for (const Counters& counters : device.counters_) {
        (record++)->value.ui64 = kstat::observe(counters.requests);
        (record++)->value.ui64 = kstat::observe(counters.bytes);
        (record++)->value.ui64 = kstat::observe(counters.errors);
    }
    (record++)->value.ui64 = kstat::observe(device.syncs_);
    (record++)->value.ui64 = kstat::observe(device.connections_);
    (record++)->value.ui64 = kstat::observe(device.connections_total_);
    return 0;
}

}  // namespace blkscope
