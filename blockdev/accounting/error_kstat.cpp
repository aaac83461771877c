#include "blockdev/accounting/error_kstat.hpp"

#include <array>
#include <cerrno>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

namespace blkscope {
namespace {

constexpr std::array<const char*, 3> totals{"Soft Errors", "Hard Errors", "Transport Errors"};
constexpr std::array<const char*, 4> identity{"Vendor", "Product", "Revision", "Serial No"};
constexpr std::array<const char*, 6> causes{"Media Error",     "Device Not Ready",
                                            "No Device",       "Recoverable",
                                            "Illegal Request", "Predictive Failure Analysis"};
constexpr size_t record_count = totals.size() + identity.size() + 1 + causes.size();

constexpr const char* vendor = "blkscope";
constexpr const char* unknown_serial = "0";

// A persistent kstat outlives its device, so its strings must, too. A process keeps one string for
// each different name of a backing.
const char* keep(const std::string& text) {
    static std::mutex mutex;
    static auto& kept = *new std::set<std::string>;  // never destroyed: readers may still use it
    const std::lock_guard lock(mutex);
    return kept.insert(text).first->c_str();
}

void add_string(kstat_t& kstat, kstat_named_t& record, const char* name, const char* text) {
    kstat_named_init(&record, name, KSTAT_DATA_STRING);
    kstat_named_setstr(&record, text);
    kstat.ks_data_size += KSTAT_NAMED_STR_BUFLEN(&record);
}

}  // namespace

ErrorKstat::ErrorKstat(const Seqlock&, const Subject& subject) : size_bytes_(subject.size_bytes) {
    if (!subject.published()) return;
    const std::string name = subject.name + ",err";
    kstat_.reset(kstat_create("nbderr", subject.instance, name.c_str(), "device_error",
                              KSTAT_TYPE_NAMED, record_count, KSTAT_FLAG_PERSISTENT));
    if (!kstat_) throw std::runtime_error("create kstat " + name);
    kstat_t& kstat = *kstat_;
    kstat.ks_private = this;
    kstat.ks_update = update;
    // A dormant kstat that is used again has the size of another device's strings.
    kstat.ks_data_size = record_count * sizeof(kstat_named_t);
    kstat_named_t* record = KSTAT_NAMED_PTR(&kstat);
    for (const char* total : totals) kstat_named_init(record++, total, KSTAT_DATA_UINT32);
    const std::array<const char*, identity.size()> texts{vendor, keep(subject.product),
                                                         BLKSCOPE_VERSION, unknown_serial};
    for (size_t i = 0; i < identity.size(); ++i) {
        add_string(kstat, *record++, identity[i], texts[i]);
    }
    kstat_named_init(record++, "Size", KSTAT_DATA_UINT64);
    for (const char* cause : causes) kstat_named_init(record++, cause, KSTAT_DATA_UINT32);
    assert(record == KSTAT_NAMED_PTR(&kstat) + record_count);
    kstat_install(&kstat);
}

int ErrorKstat::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;  // dormant, too: another device counts from 0
    const auto& errors = *static_cast<const ErrorKstat*>(ksp->ks_private);
    const ErrorCounts& counts = errors.counts_;
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp);
    for (const uint32_t* count : {&counts.soft, &counts.hard, &counts.transport}) {
        (record++)->value.ui32 = observe(*count);
    }
    record += identity.size();
    (record++)->value.ui64 = errors.size_bytes_;
    for (const uint32_t* count : {&counts.media, &counts.not_ready, &counts.no_device,
                                  &counts.recoverable, &counts.illegal}) {
        (record++)->value.ui32 = observe(*count);
    }
    assert(record == KSTAT_NAMED_PTR(ksp) + record_count - 1);
    record->value.ui32 = 0;  // nothing predicts failures of a file
    return 0;
}

}  // namespace blkscope
