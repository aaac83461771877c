// Histories: the writes of each block of a disk of any size, by their numbers.
//
//     page        a list for each of its blocks, once a small write has touched the page
//     the others  a list for all blocks between two ends of wide writes
//
//     blocks   |  lists  |       one list        |  lists  |     one list     |
//                        ^ a wide write begins             ^ and ends
//
// Units:  blocks of 512 bytes.
// Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace blkscope::simulation {

class Histories {
  public:
    /// Numbers of writes, in their order.
    using History = std::vector<uint32_t>;

    explicit Histories(uint64_t blocks) : blocks_(blocks) {}

    [[nodiscard]] uint64_t blocks() const { return blocks_; }

    /// Numbers must rise.
    void add(uint64_t first, uint64_t end, uint32_t write);

    [[nodiscard]] const History& of(uint64_t block) const;
    /// The first block behind this one that may have another history, or the end.
    [[nodiscard]] uint64_t next(uint64_t block) const;

  private:
    static constexpr uint64_t page_blocks = 8;
    static constexpr uint64_t wide_blocks_min = (uint64_t{64} << 20) / 512;
    using Page = std::array<History, page_blocks>;

    Page& own_page(uint64_t page);
    void split(uint64_t block);

    uint64_t blocks_;
    std::map<uint64_t, Page> pages_;
    std::map<uint64_t, History> between_{{0, {}}};  // of the blocks without a page, by the first
};

}  // namespace blkscope::simulation
