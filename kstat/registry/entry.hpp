// One kstat of the registry, and what is done to it while it is used alone.
#pragma once

#include "kstat/registry/description.hpp"
#include "kstat/registry/maps.hpp"

namespace blkscope::kstat2 {

struct Entry {
    kstat2_t map{};
    // What a provider might overwrite in `map`, for the framework.
    kid_t kid = 0;
    hrtime_t crtime = 0;
    std::string path;
    SharedDescription info;                     // what readers are told
    std::vector<Metadata> md;                   // of the pairs, from create to install
    std::unique_ptr<kstat2_named_t[]> storage;  // unless the provider brings its own
    std::unique_ptr<Histogram> histogram;
    std::vector<zoneid_t> zones;
    // Of a dormant one: its last values; what its pairs point at lies here.
    struct Kept {
        Values values;
        std::vector<std::vector<kstat2_named_str_t>> texts;
    };
    std::unique_ptr<Kept> kept;
    uint32_t revision = 0;  // how often it was installed or made dormant
    uint32_t holds = 0;
    bool is_gone = false;
    bool is_used = false;
    std::thread::id user;

    std::span<kstat2_named_t> pairs() const {
        return {static_cast<kstat2_named_t*>(map.ks2_data), map.ks2_ndata};
    }
    /// What a reader's list has of it.
    Map shown() const;
    /// Gives it another description. Pairs that have their names from the old one get them from the
    /// new one.
    void describe(SharedDescription other);
    bool has(uint32_t flag) const { return (map.ks2_flags & flag) != 0; }
    bool is_on_list_of(zoneid_t zone) const;
    bool is_seen_by(const Viewer& viewer) const;
};

/// Takes ks2_lock for a scope, if there is one and the thread does not hold it yet.
class [[nodiscard]] DataLock {
  public:
    explicit DataLock(const kstat2_t& map);
    ~DataLock();
    DataLock(const DataLock&) = delete;
    DataLock& operator=(const DataLock&) = delete;

  private:
    kmutex_t* mutex_ = nullptr;
};

bool data_lock_is_held(const kstat2_t& map);

/// Builds the fields of a kstat from its pairs. A reason if they are not in order.
std::string describe_pairs(const Entry& entry, std::vector<Field>& fields);

/// Runs ks2_update and copies everything, under ks2_lock. False: too much.
bool take_values(Entry& entry, Values& values);

/// Takes the last values of a kstat whose provider goes. Its pairs then point at what was kept:
/// nothing may point into the provider any more.
void keep_values(Entry& entry);

/// Gives a provider that is back the arrays and strings that it has not set anew.
void restore_kept(Entry& entry);

/// Charges the queues of an I/O kstat's copy up to `now`.
void charge_queues(uint16_t metatype, Values& values, hrtime_t now);

}  // namespace blkscope::kstat2
