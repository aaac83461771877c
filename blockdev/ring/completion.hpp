// Completion: the object that is called when an operation on a ring has ended. Also lists of
// completions that need no kernel.
//
//     prepare(completion) ──▶ kernel ─────────────▶ dispatch() ──▶ completion.complete(result)
//     completed(completion) ──▶ CompletionList ────▶ dispatch() ──▶ completion.complete(result)
//
// Units:     `result` is a number of bytes, or what the operation defines; negative: -errno.
// Ownership: a list borrows its members. A completion is in at most one list at a time.
// Threads:   one at a time.
// Errors:    none of its own.
#pragma once

#include <cassert>
#include <cstdint>

namespace blkscope {

class Completion {
  public:
    /// `result` is what the operation's system call would return, or -errno.
    virtual void complete(int32_t result) = 0;

  protected:
    Completion() = default;
    Completion(const Completion&) = default;
    Completion& operator=(const Completion&) = default;
    virtual ~Completion() = default;

  private:
    friend class CompletionList;
    Completion* next_ = nullptr;
    int32_t result_ = 0;
};

/// Completions and their results, in order. The links are in the completions themselves.
class CompletionList {
  public:
    CompletionList() = default;
    ~CompletionList() { assert(empty()); }
    CompletionList& operator=(CompletionList&&) = delete;

    [[nodiscard]] bool empty() const { return first_ == nullptr; }

    void append(Completion& completion, int32_t result) {
        completion.result_ = result;
        assert(completion.next_ == nullptr);  // the completion is in no list
        assert(end_ != &completion.next_);    // nor the last one of this list
        *end_ = &completion;
        end_ = &completion.next_;
    }

    /// Moves all members of `other` behind the members of this list.
    void take_over(CompletionList& other) {
        assert(this != &other);
        if (other.empty()) return;
        *end_ = other.first_;
        end_ = other.end_;
        other.first_ = nullptr;
        other.end_ = &other.first_;
    }

    /// Removes the first member, then calls its complete(), which may append more.
    void complete_first() {
        assert(!empty());
        Completion* const completion = first_;
        first_ = completion->next_;
        if (first_ == nullptr) end_ = &first_;
        completion->next_ = nullptr;
        completion->complete(completion->result_);
    }

  private:
    Completion* first_ = nullptr;
    Completion** end_ = &first_;
};

}  // namespace blkscope
