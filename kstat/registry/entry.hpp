// One kstat of the registry, and the operations on it during its exclusive use.
#pragma once

#include <sys/kstat2.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kstat/registry/description.hpp"
#include "kstat/registry/histogram.hpp"
#include "kstat/registry/table.hpp"
#include "kstat/registry/zones.hpp"
#include "kstat/wire/model.hpp"

namespace blkscope::kstat2 {

/// The rights of a reader. A kstat that the reader may not see is treated as missing.
struct Viewer {
    bool sees_private = false;
    zoneid_t zone = GLOBAL_ZONEID;
};

struct Entry : kstat::Links {
    kstat2_t map{};
    // The framework's copies of what a provider might overwrite in `map`.
    hrtime_t crtime = 0;
    std::string path;
    SharedDescription info;                     // for readers
    std::vector<Metadata> md;                   // of the pairs, from create to install
    std::unique_ptr<kstat2_named_t[]> storage;  // unless the provider brings its own
    std::unique_ptr<Histogram> histogram;
    kstat::Zones zones;
    // The last values of a dormant kstat, with the memory that its pairs point at.
    struct Kept {
        Values values;
        std::vector<std::vector<kstat2_named_str_t>> texts;
    };
    std::unique_ptr<Kept> kept;
    uint32_t revision = 0;  // number of installs and of changes to dormant
    kstat::Membership membership;

    kstat2_t* ksp() { return &map; }
    std::string_view key() const { return path; }
    std::span<kstat2_named_t> pairs() const {
        return {static_cast<kstat2_named_t*>(map.ks2_data), map.ks2_ndata};
    }
    /// The kstat's line in a reader's list.
    Map shown() const;
    /// Gives the kstat another description. Pairs with names from the old description get them from
    /// the new one.
    void describe(SharedDescription other);
    bool has(uint32_t flag) const { return (map.ks2_flags & flag) != 0; }
    bool is_on_list_of(zoneid_t zone) const;
    bool is_seen_by(const Viewer& viewer) const;
    /// Aborts if the calling thread has locked ks2_lock.
    void check_removable() const;
    [[noreturn]] void refuse_own_wait() const;
};

/// Builds the fields of a kstat from its pairs. Returns a reason if the pairs are not valid, else
/// an empty string.
std::string describe_pairs(const Entry& entry, std::vector<Field>& fields);

/// Runs ks2_update and copies everything, under ks2_lock. False: the values are too large.
bool take_values(Entry& entry, Values& values);

/// Copies the last values of a kstat whose provider goes away. The pairs then point at the copies:
/// nothing may point into the provider any more.
void keep_values(Entry& entry);

/// Gives a returning provider the arrays and strings that it has not set anew.
void restore_kept(Entry& entry);

/// Charges the queues of an I/O kstat's copy up to `now`.
void charge_queues(uint16_t metatype, Values& values, hrtime_t now);

}  // namespace blkscope::kstat2
