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
// An entry has the links of the three lists in itself (struct Links). List nodes with memory of their
// own would take twice as much. A server of many devices has many kstats.
//
// Threads: any. The functions that use or end a use lock the table. The caller of all others has
//          called lock().
#pragma once

#include <sys/kstat.h>

#include <boost/intrusive/options.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/intrusive/set_hook.hpp>
#include <cassert>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
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

/// The place of an entry in one list of its table.
template <class List>
using Link =
    boost::intrusive::set_base_hook<boost::intrusive::tag<List>,
                                    boost::intrusive::link_mode<boost::intrusive::normal_link>,
                                    boost::intrusive::optimize_size<true>>;
struct ByAddress;
struct ByNumber;
struct ByName;
/// Its places in all three.
struct Links : Link<ByAddress>, Link<ByNumber>, Link<ByName> {};

/// `Entry` is derived from Links, and has:
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

    // The keys of the three lists.
    struct AddressOf {
        using type = const Kstat*;
        type operator()(const Entry& entry) const { return const_cast<Entry&>(entry).ksp(); }
    };
    struct NumberOf {
        using type = kid_t;
        type operator()(const Entry& entry) const { return entry.membership.kid; }
    };
    struct NameOf {
        using type = std::remove_cvref_t<Key>;
        Key operator()(const Entry& entry) const { return entry.key(); }
    };
    template <class List, class KeyOf>
    using ListBy =
        boost::intrusive::multiset<Entry, boost::intrusive::base_hook<Link<List>>,
                                   boost::intrusive::key_of_value<KeyOf>,
                                   boost::intrusive::compare<std::less<typename KeyOf::type>>>;

    Table& operator=(Table&&) = delete;
    ~Table() { entries_.clear_and_dispose(std::default_delete<Entry>()); }

    [[nodiscard]] std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }

    /// Lists an entry under a number that no other entry has.
    Entry& add(std::unique_ptr<Entry> entry, kid_t kid) {
        Entry& added = *entry.release();
        added.membership.kid = kid;
        entries_.insert(added);
        by_kid_.insert(added);
        by_key_.insert(added);
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
        by_kid_.erase(by_kid_.iterator_to(entry));
        by_key_.erase(by_key_.iterator_to(entry));
        assert(by_kid_.size() == by_key_.size());
        return true;
    }

    /// Null: none, or it is removed.
    Entry* find(const Kstat* ksp) const {
        const auto at = entries_.find(ksp);
        if (at == entries_.end()) return nullptr;
        return at->membership.state == Membership::State::removed ? nullptr : &*at;
    }
    Entry* find(kid_t kid) const {
        const auto at = by_kid_.find(kid);
        return at == by_kid_.end() ? nullptr : &*at;
    }

    /// The listed entries in the order of their numbers, and in the order of their names.
    ListBy<ByNumber, NumberOf>& by_kid() const { return by_kid_; }
    ListBy<ByName, NameOf>& by_key() const { return by_key_; }

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
        if (at == entries_.end() || at->membership.holds == 0) return false;
        --at->membership.holds;
        free_if_unneeded(*at);
        return true;
    }

    /// Around fork(). The child's lists are empty, and its table is unlocked. The memory of the
    /// parent's kstats stays allocated, so pointers to them stay valid.
    void before_fork() { mutex_.lock(); }
    void after_fork_in_parent() { mutex_.unlock(); }
    void after_fork_in_child() {
        by_kid_.clear();
        by_key_.clear();
        for (Entry& entry : entries_) {
            Membership& membership = entry.membership;
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
        if (membership.holds > 0 || membership.exclusive.is_taken()) return;
        entries_.erase_and_dispose(entries_.iterator_to(entry), std::default_delete<Entry>());
    }

    mutable std::mutex mutex_;
    Changes changes_;  // ends of uses
    // Mutable: a constant table gives out its entries.
    mutable ListBy<ByAddress, AddressOf> entries_;  // owns them, also those that are not listed
    mutable ListBy<ByNumber, NumberOf> by_kid_;
    mutable ListBy<ByName, NameOf> by_key_;  // each zone may have another kstat of one name
};

}  // namespace blkscope::kstat
