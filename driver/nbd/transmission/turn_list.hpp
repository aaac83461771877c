// TurnList: the objects of a worker that have something to do, in order of arrival.
//
//     list ─▶ entry ─▶ entry ─▶ [mark of a walk] ─▶ entry     entries added during the walk
//
// An entry is a base of the object, so adding one allocates nothing. Each entry points to its list.
// A walk adds a mark at the end and stops there. An object added during the walk is left for the
// next walk. Any entry may be removed, added or destroyed during a walk.
//
// Ownership: borrows the listed objects. The list outlives its entries' membership.
// Threads:   a single one.
// Errors:    none. Adding an entry that another list of the same tag has is a bug.
#pragma once

#include <cassert>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {

template <class T, class Tag>
class TurnList;

/// Base of objects that can be in a list of `Tag`, in one such list at a time.
template <class Tag>
class TurnEntry {
  public:
    TurnEntry& operator=(TurnEntry&&) = delete;

    [[nodiscard]] bool is_listed() const { return list_ != nullptr; }

    /// Removes the entry from its list, if any.
    void unlist() {
        if (list_ == nullptr) return;
        assert(next_->previous_ == this && previous_->next_ == this);
        previous_->next_ = next_;
        next_->previous_ = previous_;
        previous_ = next_ = this;
        list_ = nullptr;
    }

  protected:
    TurnEntry() = default;
    ~TurnEntry() { unlist(); }

  private:
    template <class, class>
    friend class TurnList;

    TurnEntry* previous_ = this;
    TurnEntry* next_ = this;
    const void* list_ = nullptr;  // the list that has the entry
    bool is_mark_ = false;        // a walk's mark, not an object
};

template <class T, class Tag>
class TurnList {
    using Entry = TurnEntry<Tag>;

  public:
    ~TurnList() { assert(empty()); }
    TurnList& operator=(TurnList&&) = delete;

    [[nodiscard]] bool empty() const { return head_.next_ == &head_; }
    [[nodiscard]] bool has(const T& item) const { return entry_of(item).list_ == this; }

    /// Adds `item` at the end, unless the list has it.
    void add(T& item) {
        Entry& entry = item;
        if (entry.list_ == this) return;
        assert(entry.list_ == nullptr);
        append(entry);
    }

    /// Removes each object that was listed when the walk began, and passes it to `take`.
    template <class Take>
    void drain(Take take) {
        if (empty()) return;
        Mark mark(*this);
        for (;;) {
            Entry* entry = head_.next_;
            // a mark of another walk
            while (entry->is_mark_ && entry != &mark) entry = entry->next_;
            if (entry == &mark && planted("walk-forgets")) forget_behind(mark);
            if (entry == &mark) return;
            assert(entry->list_ == this && !entry->is_mark_);
            entry->unlist();
            take(static_cast<T&>(*entry));
        }
    }

    /// Passes each object that was listed when the walk began, and still is, to `look`.
    template <class Look>
    void for_each(Look look) {
        if (empty()) return;
        Mark end(*this);
        Mark place(*this);  // after the last visited object
        for (Entry* entry = head_.next_; entry != &end; entry = place.next_) {
            place.move_behind(*entry);
            if (!entry->is_mark_) look(static_cast<T&>(*entry));
        }
    }

    /// True if `holds` is true of any object. `holds` changes no list.
    template <class Holds>
    [[nodiscard]] bool any_of(Holds holds) const {
        for (const Entry* entry = head_.next_; entry != &head_; entry = entry->next_) {
            if (!entry->is_mark_ && holds(static_cast<const T&>(*entry))) return true;
        }
        return false;
    }

  private:
    struct Head : Entry {};

    /// A place in the list during a walk.
    struct Mark : Entry {
        explicit Mark(TurnList& list) {
            this->is_mark_ = true;
            list.append(*this);
        }
        void move_behind(Entry& entry) {
            const void* const list = this->list_;
            this->unlist();
            insert(*this, entry, list);
        }
    };

    static const Entry& entry_of(const T& item) { return item; }

    static void insert(Entry& entry, Entry& behind, const void* list) {
        assert(entry.list_ == nullptr && list != nullptr);
        entry.previous_ = &behind;
        entry.next_ = behind.next_;
        entry.next_->previous_ = &entry;
        behind.next_ = &entry;
        entry.list_ = list;
    }

    // A planted defect: entries added during a walk are lost.
    void forget_behind(Mark& mark) {
        while (mark.next_ != &head_) mark.next_->unlist();
    }

    void append(Entry& entry) { insert(entry, *head_.previous_, this); }

    Head head_;
};

}  // namespace blkscope::nbd
