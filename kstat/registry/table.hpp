// The table of one framework's kstats: by address, by number and by name; and their exclusive use.
//
//     add ──▶ listed ──forget──▶ removed ──▶ freed, once the kstat has no user and no hold
//                │                  ▲
//                └──fork──▶ unlisted, in the child
//
// Each framework has a table and rules of its own: Chain (kstat) and Maps (kstat2).
//
// One thread uses a kstat at a time (class Use), and the next thread waits. The table is unlocked
// during a use, because a use calls the provider's functions.
//
// A provider may overwrite all of the structure that it has a pointer to. The table therefore finds
// kstats by a number and a name of its own: Membership::kid and Entry::key().
//
// Threads: any. The functions that use or end a use lock the table. The caller of all others has
//          called lock().
#pragma once

#include <sys/kstat.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "kstat/registry/exclusive.hpp"

namespace blkscope::kstat {

/// The part of an entry that belongs to its table.
struct Membership {
    enum class State { unlisted, listed, removed };

    State state = State::unlisted;
    kid_t kid = 0;
    uint32_t holds = 0;  // each one keeps the memory
    Exclusive exclusive;
};

/// `Entry` has:
///
///     ksp()                 the structure that the provider has a pointer to
///     key()                 the name, which never changes
///     membership            a Membership
///     check_removable()     aborts if the calling thread has locked the kstat's data
///     refuse_own_wait()     aborts: the thread that uses the kstat waits for it
template <class Entry>
class Table {
  public:
    using Kstat = std::remove_pointer_t<decltype(std::declval<Entry&>().ksp())>;
    using Key = decltype(std::declval<const Entry&>().key());

    /// The exclusive use of one kstat, until destruction.
    class [[nodiscard]] Use {
      public:
        Use(Use&& other) noexcept
            : table_(other.table_), entry_(std::exchange(other.entry_, nullptr)) {}
        Use& operator=(Use&&) = delete;
        ~Use() {
            if (entry_ != nullptr) table_->end_use(*entry_);
        }

        Entry& entry() const { return *entry_; }
        Kstat* get() const { return entry_->ksp(); }

        /// Leaves the kstat in use beyond this object: the caller then calls Table::end_use().
        Kstat* detach() { return std::exchange(entry_, nullptr)->ksp(); }

      private:
        friend class Table;
        Use(Table& table, Entry& entry) : table_(&table), entry_(&entry) {}

        Table* table_;
        Entry* entry_;
    };

    /// The order by name, for names and entries alike.
    struct ByKey {
        using is_transparent = void;
        bool operator()(const Entry* left, const Entry* right) const {
            return left->key() < right->key();
        }
        bool operator()(const Entry* left, const Key& right) const { return left->key() < right; }
        bool operator()(const Key& left, const Entry* right) const { return left < right->key(); }
    };

    [[nodiscard]] std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }

    /// Lists an entry under a number that no other entry has.
    Entry& add(std::unique_ptr<Entry> entry, kid_t kid) {
        Entry& added = *entry;
        added.membership.kid = kid;
        entries_.emplace(added.ksp(), std::move(entry));
        by_kid_.emplace(kid, &added);
        by_key_.insert(&added);
        added.membership.state = Membership::State::listed;
        assert(by_kid_.size() == by_key_.size());
        return added;
    }

    /// Removes an entry from the lists; its last user and its last hold then free the memory.
    /// False: the entry was in no list, because it is inherited over fork().
    bool forget(Entry& entry) {
        Membership& membership = entry.membership;
        const bool was_listed = membership.state == Membership::State::listed;
        membership.state = Membership::State::removed;
        if (!was_listed) return false;
        by_kid_.erase(membership.kid);
        const auto [first, last] = by_key_.equal_range(&entry);
        by_key_.erase(std::find(first, last, &entry));
        assert(by_kid_.size() == by_key_.size());
        return true;
    }

    /// Null: none, or it is removed.
    Entry* find(const Kstat* ksp) const {
        const auto at = entries_.find(ksp);
        if (at == entries_.end()) return nullptr;
        Entry* const entry = at->second.get();
        return entry->membership.state == Membership::State::removed ? nullptr : entry;
    }
    Entry* find(kid_t kid) const {
        const auto at = by_kid_.find(kid);
        return at == by_kid_.end() ? nullptr : at->second;
    }

    /// The listed entries in the order of their numbers, and in the order of their names.
    const std::map<kid_t, Entry*>& by_kid() const { return by_kid_; }
    const std::multiset<Entry*, ByKey>& by_key() const { return by_key_; }

    /// Waits for the entry that `find` returns, a null pointer if there is none. The table calls
    /// `find` after each wait, because the previous user may have removed the kstat.
    template <class Find>
    std::optional<Use> use_found(Find find) {
        auto locked = lock();
        for (;;) {
            Entry* const entry = find();
            if (entry == nullptr) return std::nullopt;
            Exclusive& exclusive = entry->membership.exclusive;
            if (!exclusive.is_taken()) {
                exclusive.take();
                return Use(*this, *entry);
            }
            if (exclusive.is_mine()) entry->refuse_own_wait();
            changes_.wait(locked);
        }
    }
    std::optional<Use> use(const Kstat* ksp) {
        return use_found([this, ksp] { return find(ksp); });
    }

    /// The same. The check comes before the wait: the kstat's user may wait for the lock of the
    /// kstat's data.
    template <class Find>
    std::optional<Use> use_for_removal(Find find) {
        {
            const auto locked = lock();
            if (const Entry* const entry = find()) entry->check_removable();
        }
        return use_found(find);
    }

    /// Ends a detached use. False: the calling thread does not use this kstat.
    bool end_use(const Kstat* ksp) {
        const auto locked = lock();
        Entry* const entry = find(ksp);
        if (entry == nullptr || !entry->membership.exclusive.is_mine()) return false;
        end_use_locked(*entry);
        return true;
    }

    /// Ends a hold. False: the kstat has none.
    bool release(const Kstat* ksp) {
        const auto at = entries_.find(ksp);
        if (at == entries_.end() || at->second->membership.holds == 0) return false;
        --at->second->membership.holds;
        free_if_unneeded(*at->second);
        return true;
    }

    /// Around fork(). The child's lists are empty, and its table is unlocked. The memory of the
    /// parent's kstats stays allocated, so pointers to them stay valid.
    void before_fork() { mutex_.lock(); }
    void after_fork_in_parent() { mutex_.unlock(); }
    void after_fork_in_child() {
        by_kid_.clear();
        by_key_.clear();
        for (auto& [ksp, entry] : entries_) {
            Membership& membership = entry->membership;
            membership.exclusive.end();
            if (membership.state == Membership::State::listed) {
                membership.state = Membership::State::unlisted;
            }
        }
        mutex_.unlock();
    }

  private:
    void end_use(Entry& entry) {
        const auto locked = lock();
        end_use_locked(entry);
    }

    void end_use_locked(Entry& entry) {
        entry.membership.exclusive.end();
        free_if_unneeded(entry);
        changes_.announce();
    }

    void free_if_unneeded(Entry& entry) {
        const Membership& membership = entry.membership;
        if (membership.state != Membership::State::removed) return;
        if (membership.holds == 0 && !membership.exclusive.is_taken()) entries_.erase(entry.ksp());
    }

    mutable std::mutex mutex_;
    Changes changes_;  // ends of uses
    std::unordered_map<const Kstat*, std::unique_ptr<Entry>> entries_;
    std::map<kid_t, Entry*> by_kid_;
    std::multiset<Entry*, ByKey> by_key_;  // each zone may have another kstat of one name
};

}  // namespace blkscope::kstat
