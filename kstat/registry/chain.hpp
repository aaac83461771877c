// The chain: every kstat of this process, by number and by name.
//
//     kstat_create ──▶ INVALID ──install──▶ visible ──delete──▶ freed
//                         ▲                    └──delete, persistent──▶ DORMANT ─┐
//                         └───────────────────── create of the same name ◀───────┘
//
// One kstat has one user at a time. Reads, writes, installs and deletes hold the kstat (class
// Hold), and the next user waits. The chain's own lock is never held across a provider's function.
//
// The zones on a kstat's list see it. Readers are in the global zone. Where a function here takes a
// zone, ALL_ZONES finds the kstat in any zone.
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

    /// Gives up the hold without releasing: the caller then calls Chain::release(ksp).
    kstat_t* detach();

  private:
    friend class Chain;
    Hold(Chain& chain, Entry& entry) : chain_(&chain), entry_(&entry) {}

    Chain* chain_;
    Entry* entry_;
};

class Chain {
  public:
    /// The chain of the C functions. Never destroyed: threads may outlive main.
    static Chain& of_this_process();

    Chain();
    ~Chain();
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;

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
    std::optional<Hold> hold(const kstat_t* ksp);
    std::optional<Hold> hold(const Name& name, zoneid_t zone);

    /// Ends a detached hold. False: the calling thread does not hold this kstat.
    bool release(const kstat_t* ksp);

    /// The kstat's list of zones. False: no such kstat; or, for a removal, the zone is not on the
    /// list.
    bool zone_add(const kstat_t* ksp, zoneid_t zone);
    bool zone_remove(const kstat_t* ksp, zoneid_t zone);
    bool zone_sees(const kstat_t* ksp, zoneid_t zone) const;

    /// A number that changes whenever `headers` would; never 0 nor -1.
    kid_t id() const;

    /// Copies of up to `limit` headers of the global zone's visible kstats with numbers above
    /// `after`, in order.
    std::vector<kstat_t> headers(kid_t after, size_t limit) const;

    /// Around fork(). The child starts with an empty chain, and publishes and numbers only its own
    /// kstats. The memory of the parent's kstats stays allocated, so pointers to them stay valid.
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
    // Counts releases, for waiters. Not a condition variable: in a child of fork() it would still
    // count the parent's waiters.
    std::atomic<uint32_t> releases_{0};
    std::unordered_map<const kstat_t*, std::unique_ptr<Entry>> entries_;
    std::map<kid_t, Entry*> by_kid_;
    std::multimap<Name, Entry*> by_name_;  // each zone may have another kstat of one name
    kid_t id_ = 2;  // kids 0 and 1 are the reader's kstat_headers and kstat_types
};

/// Locks ks_lock for a scope, if the kstat has one and the thread has not locked it yet.
class [[nodiscard]] DataLock {
  public:
    explicit DataLock(const kstat_t& header);
    ~DataLock();
    DataLock(const DataLock&) = delete;
    DataLock& operator=(const DataLock&) = delete;

  private:
    kmutex_t* mutex_ = nullptr;
};

/// True if the calling thread has locked the kstat's ks_lock.
bool data_lock_is_held(const kstat_t& header);

}  // namespace blkscope::kstat
