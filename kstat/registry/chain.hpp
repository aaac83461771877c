// The chain: every kstat of this process, by number and by name.
//
//     kstat_create ──▶ INVALID ──install──▶ visible ──delete──▶ freed
//                         ▲                    └──delete, persistent──▶ DORMANT ─┐
//                         └───────────────────── create of the same name ◀───────┘
//
// One kstat has one user at a time: reads, writes, installs and deletes hold it (class Hold), and
// whoever comes second waits. The chain's own lock is never held across a provider's function.
//
// A kstat is seen by the zones on its list. Readers are in the global zone; where a function here
// takes a zone, ALL_ZONES asks for the kstat whoever sees it.
//
// Threads: any.
#pragma once

#include <sys/kstat.h>
#include <sys/mutex.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace blkscope::kstat {

/// A kstat's full name; kstats sort by it as Solaris looks them up.
struct Name {
    char module[KSTAT_STRLEN];
    int instance;
    char name[KSTAT_STRLEN];
};
bool operator<(const Name& left, const Name& right);

/// What kstat_create was asked for, names already cut to 30 characters.
struct Wanted {
    Name name;
    char klass[KSTAT_STRLEN];
    uchar_t type;
    uint_t ndata;
    uchar_t flags;
    zoneid_t zone;
};

class Chain;
struct Entry;

/// The exclusive use of one kstat, until destruction.
class [[nodiscard]] Hold {
  public:
    Hold(Hold&& other) noexcept : chain_(other.chain_), entry_(other.entry_) {
        other.entry_ = nullptr;
    }
    Hold& operator=(Hold&&) = delete;
    ~Hold();

    kstat_t* get() const;
    kstat_t* operator->() const { return get(); }

    /// Lets go without releasing: Chain::release(ksp) is then the holder's to call.
    kstat_t* detach();

  private:
    friend class Chain;
    Hold(Chain& chain, Entry& entry) : chain_(&chain), entry_(&entry) {}

    Chain* chain_;
    Entry* entry_;
};

class Chain {
  public:
    /// The chain that the C functions work on. Never destroyed: threads may outlive main.
    static Chain& of_this_process();

    Chain();
    ~Chain();
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;

    /// Why a kstat could not be created.
    enum class Refusal { collision, not_reusable, no_memory };

    /// Adds a kstat, or wakes a dormant one; it stays invisible until install. Null: see `why`.
    kstat_t* create(const Wanted& wanted, Refusal& why);

    /// Makes a kstat visible. False: no such kstat.
    bool install(kstat_t* ksp);

    /// Frees a kstat, or makes it dormant, once nobody holds it. False: no such kstat.
    bool remove(const kstat_t* ksp);
    bool remove(const Name& name, zoneid_t zone);

    /// Waits for the kstat and holds it; nothing if there is none (any more).
    std::optional<Hold> hold(kid_t kid, zoneid_t zone);
    std::optional<Hold> hold(const kstat_t* ksp);
    std::optional<Hold> hold(const Name& name, zoneid_t zone);

    /// Ends a hold that was detached. False: the calling thread does not hold this.
    bool release(const kstat_t* ksp);

    /// Who sees it. False: no such kstat; or, for a removal, it is not on that zone's list.
    bool zone_add(const kstat_t* ksp, zoneid_t zone);
    bool zone_remove(const kstat_t* ksp, zoneid_t zone);
    bool zone_sees(const kstat_t* ksp, zoneid_t zone) const;

    /// A number that changes whenever `headers` would; never 0 nor -1.
    kid_t id() const;

    /// Copies of up to `limit` headers of the global zone's visible kstats with numbers above
    /// `after`, in order.
    std::vector<kstat_t> headers(kid_t after, size_t limit) const;

    /// Around fork(): the child starts with an empty chain. It keeps the memory of its parent's
    /// kstats, so pointers to them stay good, but publishes and numbers only its own.
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

  private:
    friend class Hold;

    template <class Find>
    std::optional<Hold> hold_what(Find find);
    kstat_t* reuse(Entry& entry, const Wanted& wanted, Refusal& why);
    kstat_t* add(const Wanted& wanted);
    void check_lock_is_free(const Entry* entry) const;
    bool remove_held(std::optional<Hold> held);
    void make_dormant(Entry& entry);
    void release(Entry& entry);
    void release_locked(Entry& entry);
    void forget(Entry& entry);
    void advance_id();
    void wake_waiters();
    void set_flags(kstat_t& header, uchar_t set, uchar_t clear);
    kid_t free_number();
    Entry* find(kid_t kid, zoneid_t zone) const;
    Entry* find(const kstat_t* ksp) const;
    Entry* find(const Name& name, zoneid_t zone) const;

    mutable std::mutex mutex_;
    // Counts releases, for waiters. Not a condition variable: a child of fork() would find the
    // parent's waiters counted in it.
    std::atomic<uint32_t> releases_{0};
    std::unordered_map<const kstat_t*, std::unique_ptr<Entry>> entries_;
    std::map<kid_t, Entry*> by_kid_;
    std::multimap<Name, Entry*> by_name_;  // one name may be another kstat in each zone
    kid_t id_ = 2;  // kids 0 and 1 are the reader's kstat_headers and kstat_types
};

/// Takes ks_lock for a scope, if the kstat has one and the thread does not hold it yet.
class [[nodiscard]] DataLock {
  public:
    explicit DataLock(const kstat_t& header);
    ~DataLock();
    DataLock(const DataLock&) = delete;
    DataLock& operator=(const DataLock&) = delete;

  private:
    kmutex_t* mutex_ = nullptr;
};

/// True if the calling thread holds the kstat's ks_lock.
bool data_lock_is_held(const kstat_t& header);

}  // namespace blkscope::kstat
