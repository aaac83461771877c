// The chain: every kstat of this process, by number and by name.
//
//     kstat_create ──▶ INVALID ──install──▶ visible ──delete──▶ freed
//                         ▲                    └──delete, persistent──▶ DORMANT ─┐
//                         └───────────────────── create of the same name ◀───────┘
//
// One kstat has one user at a time. Reads, writes, installs and deletes hold the kstat (class
// Hold), and the next user waits: kstat/registry/table.hpp. The chain's own lock is never held
// across a provider's function.
//
// The zones on a kstat's list see it. Readers are in the global zone. Where a function here takes a
// zone, ALL_ZONES finds the kstat in any zone.
//
// Threads: any.
#pragma once

#include <sys/kstat.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "kstat/registry/table.hpp"
#include "kstat/registry/zones.hpp"

namespace blkscope::kstat {

/// A kstat's full name. Kstats sort by it in the order in which Solaris looks them up.
struct Name {
    char module[KSTAT_STRLEN];
    int instance;
    char name[KSTAT_STRLEN];
};
bool operator<(const Name& left, const Name& right);

/// The arguments of kstat_create, names already cut to 30 characters.
struct Wanted {
    Name name;
    char klass[KSTAT_STRLEN];
    uchar_t type;
    uint_t ndata;
    uchar_t flags;
    zoneid_t zone;
};

/// One kstat of the chain.
struct Entry : Links {
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };

    kstat_t header{};
    Name name{};
    std::unique_ptr<void, Free> data;  // unless the provider brings its own
    Zones zones;
    // The header for listings while a function of the provider is writing the header above.
    std::unique_ptr<kstat_t> shown;
    Membership membership;

    kstat_t* ksp() { return &header; }
    const Name& key() const { return name; }
    bool is_seen_by(zoneid_t zone) const;
    /// Aborts if the calling thread has locked ks_lock.
    void check_removable() const;
    [[noreturn]] void refuse_own_wait() const;
};

/// The exclusive use of one kstat, until destruction.
using Hold = Table<Entry>::Use;

class Chain {
  public:
    /// The chain of the C functions. Never destroyed: threads may outlive main.
    static Chain& of_this_process();

    /// The reason why a kstat could not be created.
    enum class Refusal { collision, not_reusable, no_memory };

    /// Adds a kstat, or wakes a dormant one. The kstat stays invisible until install. Null: see
    /// `why`.
    kstat_t* create(const Wanted& wanted, Refusal& why);

    /// Makes a kstat visible. False: no such kstat.
    bool install(kstat_t* ksp);

    /// Frees a kstat, or makes it dormant, once no thread holds it. False: no such kstat.
    bool remove(const kstat_t* ksp);
    bool remove(const Name& name, zoneid_t zone);

    /// Waits for the kstat and holds it; nothing if there is none or it was freed meanwhile.
    std::optional<Hold> hold(kid_t kid, zoneid_t zone);
    std::optional<Hold> hold(const kstat_t* ksp) { return table_.use(ksp); }
    std::optional<Hold> hold(const Name& name, zoneid_t zone);

    /// Ends a detached hold. False: the calling thread does not hold this kstat.
    bool release(const kstat_t* ksp) { return table_.end_use(ksp); }

    /// The kstat's list of zones. False: no such kstat; or, for a removal, the zone is not on the
    /// list.
    bool zone_add(const kstat_t* ksp, zoneid_t zone);
    bool zone_remove(const kstat_t* ksp, zoneid_t zone);
    bool zone_sees(const kstat_t* ksp, zoneid_t zone) const;

    /// A number that changes whenever `headers` would; never 0 nor -1.
    kid_t id() const;

    /// Copies of up to `limit` headers of the global zone's visible kstats with numbers above
    /// `after`, in order. Numbers and names are the chain's own, whatever a provider has written.
    std::vector<kstat_t> headers(kid_t after, size_t limit) const;

    /// Around fork(). The child starts with an empty chain, and publishes and numbers only its own
    /// kstats. The memory of the parent's kstats stays allocated, so pointers to them stay valid.
    void before_fork() { table_.before_fork(); }
    void after_fork_in_parent() { table_.after_fork_in_parent(); }
    void after_fork_in_child() { table_.after_fork_in_child(); }

  private:
    kstat_t* reuse(Entry& entry, const Wanted& wanted, Refusal& why);
    kstat_t* add(const Wanted& wanted);
    bool remove_held(const std::optional<Hold>& held);
    void make_dormant(Entry& entry);
    void advance_id();
    kid_t free_number();
    Entry* find(kid_t kid, zoneid_t zone) const;
    Entry* find(const Name& name, zoneid_t zone) const;

    Table<Entry> table_;
    kid_t id_ = 2;  // kids 0 and 1 are the reader's kstat_headers and kstat_types
};

}  // namespace blkscope::kstat
