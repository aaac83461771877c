#include "blockdev/accounting/client_stats.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

namespace blkscope {
namespace {

constexpr uint_t client_records = 6 + OpCounts::record_count + 3;

}  // namespace

ClientStats::ClientStats(const Seqlock& seq, const Subject& subject, const std::string& what,
                         ClientIdentity who)
    : who_(std::move(who)), io_(seq, subject.instance, subject.name + "," + what, client_class) {
    if (subject.published()) publish_info(subject, what);
}

void ClientStats::publish_info(const Subject& subject, const std::string& what) {
    const std::string name = what + ",info";
    info_ = make_device_kstat(
        subject, {name.c_str(), client_class, KSTAT_TYPE_NAMED, client_records}, this, update);
    if (!info_) return;
    kstat_named_t* record = KSTAT_NAMED_PTR(info_);
    add_text(*info_, *record++, "peer", who_.peer.c_str());
    add_text(*info_, *record++, "program", who_.program.c_str());
    kstat_named_init(record, "uid", KSTAT_DATA_INT64);
    (record++)->value.i64 = who_.uid ? int64_t{*who_.uid} : -1;
    kstat_named_init(record, "pid", KSTAT_DATA_INT32);
    (record++)->value.i32 = who_.pid;
    kstat_named_init(record++, "connections", KSTAT_DATA_UINT64);
    kstat_named_init(record++, "connections_total", KSTAT_DATA_UINT64);
    record = OpCounts::name_records(record);
    kstat_named_init(record++, "held_bytes", KSTAT_DATA_UINT64);
    kstat_named_init(record++, "stalls", KSTAT_DATA_UINT64);
    kstat_named_init(record++, "limited_ns", KSTAT_DATA_UINT64);
    assert(record == KSTAT_NAMED_PTR(info_) + client_records);
    kstat_install(info_.get());
}

int ClientStats::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& stats = *static_cast<const ClientStats*>(ksp->ks_private);
    const std::lock_guard lock(stats.mutex_);
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp) + 4;  // behind the identity, which never changes
    (record++)->value.ui64 = stats.connections_.size();
    (record++)->value.ui64 = stats.connections_total_;
    record = stats.operations_.fill_records(record);
    uint64_t held_bytes = 0;
    uint64_t stalls = stats.closed_stalls_;
    for (const ConnectionFigures* figures : stats.connections_) {
        held_bytes += observe(figures->held_bytes);
        stalls += observe(figures->stalls);
    }
    (record++)->value.ui64 = held_bytes;
    (record++)->value.ui64 = stalls;
    (record++)->value.ui64 = observe(stats.limited_ns_);
    assert(record == KSTAT_NAMED_PTR(ksp) + ksp->ks_ndata);
    return 0;
}

// ---- Connections ----

void ClientStats::add_connection(const ConnectionFigures& figures) {
    const std::lock_guard lock(mutex_);
    connections_.push_back(&figures);
    ++connections_total_;
}

void ClientStats::remove_connection(const ConnectionFigures& figures) {
    const std::lock_guard lock(mutex_);
    assert(figures.held_bytes == 0);
    const auto found = std::ranges::find(connections_, &figures);
    assert(found != connections_.end());
    connections_.erase(found);
    closed_stalls_ += figures.stalls;
}

// ---- The end of a client ----

void ClientStats::take_over(const ClientStats& closed) {
    const kstat_io_t& from = closed.io_.io;
    kstat_io_t& to = io_.io;
    assert(from.wcnt == 0 && from.rcnt == 0);
    const auto add = [](auto& sum, auto more) { publish(sum, sum + more); };
    add(to.nread, from.nread);
    add(to.nwritten, from.nwritten);
    add(to.reads, from.reads);
    add(to.writes, from.writes);
    add(to.wlentime, from.wlentime);
    add(to.rlentime, from.rlentime);
    publish(to.wlastupdate, std::max(to.wlastupdate, from.wlastupdate));
    publish(to.rlastupdate, std::max(to.rlastupdate, from.rlastupdate));
    operations_.take_over(closed.operations_);
    add(limited_ns_, closed.limited_ns_);
}

void ClientStats::take_over_connections(const ClientStats& closed) {
    assert(closed.connections_.empty());
    const std::lock_guard lock(mutex_);
    connections_total_ += closed.connections_total_;
    closed_stalls_ += closed.closed_stalls_;
}

void ClientStats::withdraw() {
    info_.reset();
    io_.withdraw();
}

}  // namespace blkscope
