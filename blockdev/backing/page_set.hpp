// PageSet: which pages of a memory backing have ever been written to.
//
// A bit a page, in memory that is only resident where a bit was set: a terabyte that nobody has
// written to costs nothing.
//
// Units:   pages, by their number; ranges are first, end.
// Threads: those who add or remove in one word see to it that it is one at a time; any may look
//          meanwhile, and finds each page as it was or as it becomes.
// Errors:  the constructor throws std::system_error.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace blkscope {

class PageSet {
  public:
    /// Pages that go together, and whether they are in the set.
    struct Run {
        uint64_t pages;
        bool present;
    };

    static constexpr uint64_t word_bits = 64;  // pages that share a word

    explicit PageSet(uint64_t pages);
    ~PageSet();
    PageSet(const PageSet&) = delete;
    PageSet& operator=(const PageSet&) = delete;

    void add(uint64_t first, uint64_t end) { set(first, end, true); }
    void remove(uint64_t first, uint64_t end) { set(first, end, false); }
    [[nodiscard]] bool contains(uint64_t page) const {
        return (word(page) >> (page % word_bits) & 1) != 0;
    }

    /// The pages from `first` on, and before `end`, that are as `first` is.
    [[nodiscard]] Run run(uint64_t first, uint64_t end) const;

  private:
    static constexpr uint64_t bits_per_byte = 8;

    /// That with the bit of `page`.
    [[nodiscard]] uint64_t word(uint64_t page) const {
        assert(page < bytes_ * bits_per_byte);
        return std::atomic_ref<uint64_t>(words_[page / word_bits]).load(std::memory_order_relaxed);
    }
    void set(uint64_t first, uint64_t end, bool value);

    uint64_t* words_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace blkscope
