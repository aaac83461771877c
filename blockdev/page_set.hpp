// PageSet: which pages of a memory backing have ever been written to.
//
// A bit a page, in memory that is only resident where a bit was set: a terabyte that nobody has
// written to costs nothing.
//
// Units:   pages, by their number; ranges are first, end.
// Threads: one.
// Errors:  the constructor throws std::system_error.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blkscope {

class PageSet {
  public:
    explicit PageSet(uint64_t pages);
    ~PageSet();
    PageSet(const PageSet&) = delete;
    PageSet& operator=(const PageSet&) = delete;

    void add(uint64_t first, uint64_t end) { set(first, end, true); }
    void remove(uint64_t first, uint64_t end) { set(first, end, false); }
    [[nodiscard]] bool contains(uint64_t page) const {
        return (words_[page / word_bits] >> (page % word_bits) & 1) != 0;
    }

    /// How many pages from `first` on, and before `end`, are as `first` is.
    [[nodiscard]] uint64_t run(uint64_t first, uint64_t end) const;

  private:
    static constexpr uint64_t word_bits = 64;

    void set(uint64_t first, uint64_t end, bool value);

    uint64_t* words_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace blkscope
