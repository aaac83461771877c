// PageSet: which pages of a memory backing have ever been written to.
//
// One bit a page, in memory that is resident only where a bit was set. A terabyte that was never
// written to costs nothing.
//
// Units:     pages, by their number; a range is its first page and the page after its last.
// Ownership: owns the memory of the bits.
// Threads:   any may read; a reader finds each page as it was before a change or after it. Callers
//            make sure that one thread at a time changes the pages of one word.
// Errors:    the constructor throws std::system_error.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/zeroed_pages.hpp"

namespace blkscope {

class PageSet {
  public:
    /// Adjacent pages, and whether all of them are in the set or none.
    struct Run {
        uint64_t pages;
        bool present;
    };

    static constexpr uint64_t word_bits = 64;  // pages that share a word

    explicit PageSet(uint64_t pages);
    PageSet& operator=(PageSet&&) = delete;

    void add(uint64_t first, uint64_t end) { set(first, end, true); }
    void remove(uint64_t first, uint64_t end) { set(first, end, false); }
    [[nodiscard]] bool contains(uint64_t page) const {
        return (word(page) >> (page % word_bits) & 1) != 0;
    }

    /// The run of pages from `first` on, before `end`, that have the same state as `first`.
    [[nodiscard]] Run run(uint64_t first, uint64_t end) const;

  private:
    static constexpr uint64_t bits_per_byte = 8;

    /// The word that has the bit of `page`.
    [[nodiscard]] uint64_t word(uint64_t page) const {
        assert(page < bytes_ * bits_per_byte);
        return std::atomic_ref<uint64_t>(words_[page / word_bits]).load(std::memory_order_relaxed);
    }
    void set(uint64_t first, uint64_t end, bool value);

    const ZeroedPages memory_;
    uint64_t* const words_;
    const size_t bytes_;
};

}  // namespace blkscope
