#include "blockdev/accounting/error_kstat.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace blkscope {
namespace {

// A record that counts requests.
struct Counted {
    const char* name;
    uint32_t ErrorCounts::*count;
};
constexpr std::array totals{Counted{"Soft Errors", &ErrorCounts::soft},
                            Counted{"Hard Errors", &ErrorCounts::hard},
                            Counted{"Transport Errors", &ErrorCounts::transport}};
constexpr std::array causes{Counted{"Media Error", &ErrorCounts::media},
                            Counted{"Device Not Ready", &ErrorCounts::not_ready},
                            Counted{"No Device", &ErrorCounts::no_device},
                            Counted{"Recoverable", &ErrorCounts::recoverable},
                            Counted{"Illegal Request", &ErrorCounts::illegal}};

// A record that says what the device is.
struct Described {
    const char* name;
    const char* text;
};

// A persistent kstat outlives its device, so its strings must, too. A process keeps one string for
// each different name of a backing.
const char* keep(const std::string& text) {
    static std::mutex mutex;
    static auto& kept = *new std::set<std::string>;  // never destroyed: readers may still use it
    const std::lock_guard lock(mutex);
    return kept.insert(text).first->c_str();
}

auto identity_of(const Subject& subject) {
    return std::to_array<Described>({{"Vendor", "blkscope"},
                                     {"Product", keep(subject.product)},
                                     {"Revision", BLKSCOPE_VERSION},
                                     {"Serial No", "0"}});
}
constexpr size_t identity_count =
    std::tuple_size_v<decltype(identity_of(std::declval<const Subject&>()))>;

// In this order: the totals, the identity, the size, the causes and the predicted failures.
constexpr size_t error_records = totals.size() + identity_count + 1 + causes.size() + 1;

}  // namespace

ErrorKstat::ErrorKstat(const Seqlock&, const Subject& subject) : size_bytes_(subject.size_bytes) {
    if (!subject.published()) return;
    const std::string name = subject.name + ",err";
    kstat_.reset(kstat_create("nbderr", subject.instance, name.c_str(), "device_error",
                              KSTAT_TYPE_NAMED, error_records, KSTAT_FLAG_PERSISTENT));
    if (!kstat_) throw std::runtime_error("create kstat " + name);
    kstat_t& kstat = *kstat_;
    kstat.ks_private = this;
    kstat.ks_update = update;
    // A dormant kstat that is used again has the size of another device's strings.
    kstat.ks_data_size = error_records * sizeof(kstat_named_t);
    kstat_named_t* record = KSTAT_NAMED_PTR(&kstat);
    const auto add_count = [&](const char* record_name) {
        kstat_named_init(record++, record_name, KSTAT_DATA_UINT32);
    };
    for (const Counted& total : totals) add_count(total.name);
    for (const Described& fact : identity_of(subject)) {
        add_text(kstat, *record++, fact.name, fact.text);
    }
    kstat_named_init(record++, "Size", KSTAT_DATA_UINT64);
    for (const Counted& cause : causes) add_count(cause.name);
    add_count("Predictive Failure Analysis");
    assert(record == KSTAT_NAMED_PTR(&kstat) + error_records);
    kstat_install(&kstat);
}

int ErrorKstat::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;  // dormant, too: another device counts from 0
    const auto& errors = *static_cast<const ErrorKstat*>(ksp->ks_private);
    const ErrorCounts& counts = errors.counts_;
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp);
    const auto put = [&](const Counted& counted) {
        (record++)->value.ui32 = observe(counts.*counted.count);
    };
    std::ranges::for_each(totals, put);
    record += identity_count;
    (record++)->value.ui64 = errors.size_bytes_;
    std::ranges::for_each(causes, put);
    assert(record == KSTAT_NAMED_PTR(ksp) + error_records - 1);
    record->value.ui32 = 0;  // nothing predicts failures of a file
    return 0;
}

}  // namespace blkscope
