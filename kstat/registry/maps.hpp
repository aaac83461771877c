// Every kstat2 of this process, by number and by path.
//
//     create ──▶ INVALID ──install──▶ visible ──remove──▶ gone; freed when nobody holds it
//                   ▲                    └──remove, persistent──▶ DORMANT ─┐
//                   └─────────────────── create of the same path ◀─────────┘
//
// Installing, reading and removing use a kstat exclusively, and the next user waits:
// kstat/registry/table.hpp. After kstat2_delete, nothing of the provider's is therefore touched. A
// hold only keeps memory.
//
// Threads: any.
#pragma once

#include <sys/kstat2.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kstat/registry/entry.hpp"
#include "kstat/registry/table.hpp"

namespace blkscope::kstat2 {

/// The zone of a reader that is in no zone with a number; that reader sees the kstats of ALL_ZONES.
inline constexpr zoneid_t no_zone = -2;
/// Zones have numbers from 1 to this maximum; 0 is the global zone.
inline constexpr zoneid_t zone_max = 9999;

/// The reason for a pointer that is not, or no longer, a kstat.
inline constexpr const char* no_such_kstat = "no such kstat";

/// The arguments for a histogram.
struct WantedHistogram {
    Buckets shape;
    std::span<uint64_t> own;  // the provider's array, or empty
};

/// The checked arguments of kstat2_create and its sisters (kstat/registry/checks.hpp).
struct Wanted {
    std::string path;
    zoneid_t zone = ALL_ZONES;
    kstat2_named_t* data = nullptr;
    uint_t ndata = 0;
    uint32_t flags = 0;
    uint16_t metatype = KSTAT2_MT_NONE;
    uint32_t metaflags = KSTAT2_MF_NONE;
    std::string desc;
    std::vector<Metadata> md;   // ndata of them
    std::vector<Field> fields;  // of a template or a histogram; else empty until install
    std::optional<WantedHistogram> histogram;
};

/// The result of a read: the values, or an error. ENXIO: no such kstat. EFBIG: its values are too
/// large.
struct Reading {
    int error = 0;
    Values values;
};

class Maps {
  public:
    /// The registry of the C functions. Never destroyed: threads may outlive main.
    static Maps& of_this_process();

    /// Adds a kstat, or wakes a dormant one; invisible until install. Null: see `why`.
    kstat2_t* create(const Wanted& wanted, std::string& why);

    /// Makes a kstat visible. False: see `why`; the kstat stays invisible.
    bool install(kstat2_t* ksp, std::string& why);

    /// Removes a kstat, or makes it dormant, once no thread uses it. False: no such kstat.
    bool remove(const kstat2_t* ksp);
    /// The same, if that zone sees the kstat.
    bool remove(kid_t kid, zoneid_t zone);

    /// Keeps a kstat's memory until it is released as often as held. Null, false: no such kstat.
    kstat2_t* hold(kid_t kid);
    bool release(const kstat2_t* ksp);

    /// The kstat's list of zones. False: no such kstat; or, for a removal, the zone is not on the
    /// list.
    bool zone_add(const kstat2_t* ksp, zoneid_t zone);
    bool zone_remove(const kstat2_t* ksp, zoneid_t zone);

    /// A number that changes whenever the viewer's list would.
    uint64_t generation(const Viewer& viewer) const;

    struct Page {
        std::vector<Map> maps;
        bool more = false;
        uint64_t generation = 0;
    };
    /// The viewer's kstats with numbers above `after`, in order, until they take `size` bytes in a
    /// page (kstat/wire/kstat2.hpp).
    Page list(const Viewer& viewer, kid_t after, size_t size) const;

    /// All values of one kstat, from one snapshot.
    Reading read(const Viewer& viewer, kid_t kid);

    /// Around fork(). The child starts with an empty list. The memory of the parent's kstats stays
    /// allocated, so pointers to them stay valid.
    void before_fork() { table_.before_fork(); }
    void after_fork_in_parent() { table_.after_fork_in_parent(); }
    void after_fork_in_child() { table_.after_fork_in_child(); }

  private:
    using Use = kstat::Table<Entry>::Use;

    kstat2_t* wake(Entry& entry, const Wanted& wanted, std::string& why);
    kstat2_t* add(const Wanted& wanted, std::string& why);
    std::string clash(std::string_view path, const std::vector<Field>& fields) const;
    bool describe(Entry& entry, std::string& why);
    bool remove_used(const std::optional<Use>& used);
    void make_dormant(Entry& entry);
    uint64_t generation_locked(const Viewer& viewer) const;
    Entry* find(std::string_view path) const;

    kstat::Table<Entry> table_;
    Commons commons_;  // shared by its kstats
    kid_t last_kid_ = 0;
};

}  // namespace blkscope::kstat2
