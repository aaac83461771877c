// What a device publishes. Readers come on the kstat server's thread; the worker goes on meanwhile.

#include <algorithm>
#include <cerrno>
#include <kstat/seqlock.hpp>
#include <mutex>
#include <set>
#include <stdexcept>

#include "blockdev/device/device.hpp"

namespace blkscope {
namespace {

// The records of `cmds`, in order; per operation in the order of Buf::Op.
constexpr std::array<const char*, Buf::op_count> op_names{
    "read", "write", "flush", "trim", "write_zeroes", "cache", "block_status"};
constexpr std::array<const char*, 3> per_op_names{"requests", "bytes", "errors"};
constexpr std::array<const char*, 3> other_names{"syncs", "connections", "connections_total"};
constexpr size_t cmds_records = op_names.size() * per_op_names.size() + other_names.size();

void name_cmds(kstat_named_t* record) {
    for (const char* op : op_names) {
        for (const char* what : per_op_names) {
            const std::string name = std::string(op) + "_" + what;
            kstat_named_init(record++, name.c_str(), KSTAT_DATA_UINT64);
        }
    }
    for (const char* name : other_names) kstat_named_init(record++, name, KSTAT_DATA_UINT64);
}

constexpr std::array<const char*, 4> timer_names{"flush", "trim", "write_zeroes", "submit"};

constexpr std::array<const char*, 3> error_totals{"Soft Errors", "Hard Errors", "Transport Errors"};
constexpr std::array<const char*, 4> identity{"Vendor", "Product", "Revision", "Serial No"};
constexpr std::array<const char*, 6> error_causes{"Media Error",     "Device Not Ready",
                                                  "No Device",       "Recoverable",
                                                  "Illegal Request", "Predictive Failure Analysis"};
constexpr size_t error_records = error_totals.size() + identity.size() + 1 + error_causes.size();

constexpr const char* vendor = "blkscope";
constexpr const char* unknown_serial = "0";

// A persistent kstat outlives its device, and so must its strings. There are as many as a process
// has backings of different names.
const char* keep(const std::string& text) {
    static std::mutex mutex;
    static auto& kept = *new std::set<std::string>;  // never destroyed: readers may still come
    const std::lock_guard lock(mutex);
    return kept.insert(text).first->c_str();
}

// What a backing is called, without the folders.
std::string product_of(const Backing& backing) {
    const std::string text = backing.describe();
    return text.substr(text.rfind('/') + 1);  // npos + 1 is 0: no folder, all of it
}

void add_string(kstat_t& kstat, kstat_named_t& record, const char* name, const char* text) {
    kstat_named_init(&record, name, KSTAT_DATA_STRING);
    kstat_named_setstr(&record, text);
    kstat.ks_data_size += KSTAT_NAMED_STR_BUFLEN(&record);
}

}  // namespace

OwnedKstat Device::create_kstat(const char* what, const char* ks_class, uchar_t type,
                                uint_t records, int (*update)(kstat_t*, int)) {
    const std::string name = name_ + "," + what;
    OwnedKstat kstat(
        kstat_create(device_module, instance(), name.c_str(), ks_class, type, records, 0));
    if (!kstat) throw std::runtime_error("create kstat " + name);
    kstat->ks_private = this;
    kstat->ks_update = update;
    return kstat;
}

void Device::publish_kstats() {
    if (!disk_.published()) throw std::runtime_error("create kstat " + name_);
    cmds_kstat_ = create_kstat("cmds", "misc", KSTAT_TYPE_NAMED, cmds_records, update_cmds);
    name_cmds(KSTAT_NAMED_PTR(cmds_kstat_));
    intr_kstat_ = create_kstat("intr", "controller", KSTAT_TYPE_INTR, 1, update_intr);
    timers_kstat_ = create_kstat("timers", "misc", KSTAT_TYPE_TIMER, timer_count, update_timers);
    kstat_timer_t* timer = KSTAT_TIMER_PTR(timers_kstat_);
    for (const char* name : timer_names) kstat_timer_init(timer++, name);
    for (const OwnedKstat* kstat : {&cmds_kstat_, &intr_kstat_, &timers_kstat_}) {
        kstat_install(kstat->get());
    }
    publish_errors();
}

// Persistent, as those of sd and blkdev are: the errors can be read when the device has gone.
void Device::publish_errors() {
    errors_kstat_.reset(kstat_create("nbderr", instance(), (name_ + ",err").c_str(), "device_error",
                                     KSTAT_TYPE_NAMED, error_records, KSTAT_FLAG_PERSISTENT));
    if (!errors_kstat_) throw std::runtime_error("create kstat " + name_ + ",err");
    kstat_t& kstat = *errors_kstat_;
    kstat.ks_private = this;
    kstat.ks_update = update_errors;
    // One that lay dormant has the size of another device's strings.
    kstat.ks_data_size = error_records * sizeof(kstat_named_t);
    kstat_named_t* record = KSTAT_NAMED_PTR(&kstat);
    for (const char* name : error_totals) kstat_named_init(record++, name, KSTAT_DATA_UINT32);
    const std::array<const char*, identity.size()> texts{vendor, keep(product_of(backing())),
                                                         BLKSCOPE_VERSION, unknown_serial};
    for (size_t i = 0; i < identity.size(); ++i) {
        add_string(kstat, *record++, identity[i], texts[i]);
    }
    kstat_named_init(record++, "Size", KSTAT_DATA_UINT64);
    for (const char* name : error_causes) kstat_named_init(record++, name, KSTAT_DATA_UINT32);
    kstat_install(&kstat);
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

int Device::update_intr(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& device = *static_cast<const Device*>(ksp->ks_private);
    uint_t* counts = KSTAT_INTR_PTR(ksp)->intrs;
    for (size_t i = 0; i < KSTAT_NUM_INTRS; ++i) counts[i] = kstat::observe(device.intr_.intrs[i]);
    counts[KSTAT_INTR_SPURIOUS] = device.empty_wakeups();
    return 0;
}

int Device::update_timers(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& device = *static_cast<const Device*>(ksp->ks_private);
    const auto copies = device.seq_.read([&] {
        std::array<Timer, timer_count> timers;
        std::ranges::transform(device.timers_, timers.begin(), &Timer::observed);
        return timers;
    });
    kstat_timer_t* record = KSTAT_TIMER_PTR(ksp);
    for (const Timer& timer : copies) timer.in_nanoseconds(*record++);
    return 0;
}

int Device::update_errors(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;  // of a dormant one, too: another device counts from 0
    const auto& device = *static_cast<const Device*>(ksp->ks_private);
    const ErrorCounts& counts = device.errors_;
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp);
    for (const uint32_t* count : {&counts.soft, &counts.hard, &counts.transport}) {
        (record++)->value.ui32 = kstat::observe(*count);
    }
    record += identity.size();
    (record++)->value.ui64 = device.size_bytes_;
    for (const uint32_t* count : {&counts.media, &counts.not_ready, &counts.no_device,
                                  &counts.recoverable, &counts.illegal}) {
        (record++)->value.ui32 = kstat::observe(*count);
    }
    record->value.ui32 = 0;  // nothing predicts failures of a file
    return 0;
}

}  // namespace blkscope
