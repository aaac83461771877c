// Fifo: a queue whose members have their own link, so that queueing allocates nothing.
//
// Ownership: borrows its members. An object is in at most one Fifo over the same link at a time.
// Threads:   one.
#pragma once

#include <cassert>

namespace blkscope {

/// First in, first out, linked through `next`.
template <class T, T* T::*next>
class Fifo {
  public:
    Fifo& operator=(Fifo&&) = delete;

    [[nodiscard]] bool empty() const { return first_ == nullptr; }

    void push(T& item) {
        assert(item.*next == nullptr);  // the item is in no queue
        assert(end_ != &(item.*next));  // nor the last one of this queue
        *end_ = &item;
        end_ = &(item.*next);
    }

    [[nodiscard]] T& front() {
        assert(first_ != nullptr);
        return *first_;
    }

    T& pop() {
        assert(first_ != nullptr);
        T& item = *first_;
        first_ = item.*next;
        if (first_ == nullptr) end_ = &first_;
        item.*next = nullptr;
        return item;
    }

    [[nodiscard]] T& front() const {
        assert(first_ != nullptr);
        return *first_;
    }

    /// Moves all members of `other` behind the members of this queue.
    void take_over(Fifo& other) {
        assert(this != &other);
        if (other.empty()) return;
        *end_ = other.first_;
        end_ = other.end_;
        other.first_ = nullptr;
        other.end_ = &other.first_;
    }

  private:
    T* first_ = nullptr;
    T** end_ = &first_;
};

}  // namespace blkscope
