#include "histories.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace blkscope::simulation {

Histories::Page& Histories::own_page(uint64_t page) {
    const auto found = pages_.lower_bound(page);
    if (found != pages_.end() && found->first == page) return found->second;
    Page own;
    for (uint64_t i = 0; i < page_blocks; ++i) {
        own[i] = std::prev(between_.upper_bound(page * page_blocks + i))->second;
    }
    return pages_.emplace_hint(found, page, std::move(own))->second;
}

void Histories::split(uint64_t block) {
    const auto behind = between_.upper_bound(block);
    assert(behind != between_.begin());
    const auto here = std::prev(behind);
    if (here->first < block) between_.emplace_hint(behind, block, here->second);
}

// The pages at both ends of a wide write get lists of their own, so that a page between is touched as a whole.
void Histories::add(uint64_t first, uint64_t end, uint32_t write) {
    assert(first < end && end <= blocks_);
    if (end - first < wide_blocks_min) {
        for (uint64_t block = first; block < end;) {
            Page& page = own_page(block / page_blocks);
            const uint64_t page_end = std::min(end, (block / page_blocks + 1) * page_blocks);
            for (; block < page_end; ++block) page[block % page_blocks].push_back(write);
        }
        return;
    }
    own_page(first / page_blocks);
    own_page((end - 1) / page_blocks);
    split(first);
    if (end < blocks_) split(end);
    for (auto at = between_.lower_bound(first); at != between_.end() && at->first < end; ++at) {
        at->second.push_back(write);
    }
    for (auto page = pages_.lower_bound(first / page_blocks); page != pages_.end(); ++page) {
        const uint64_t at = page->first * page_blocks;
        if (at >= end) break;
        for (uint64_t block = std::max(at, first); block < std::min(at + page_blocks, end);
             ++block) {
            page->second[block - at].push_back(write);
        }
    }
}

const Histories::History& Histories::of(uint64_t block) const {
    assert(block < blocks_);
    const auto page = pages_.find(block / page_blocks);
    if (page != pages_.end()) return page->second[block % page_blocks];
    return std::prev(between_.upper_bound(block))->second;
}

uint64_t Histories::next(uint64_t block) const {
    const uint64_t behind = block + 1;
    const auto page = pages_.lower_bound(behind / page_blocks);
    const auto between = between_.upper_bound(block);
    const uint64_t own =
        page == pages_.end() ? blocks_ : std::max(behind, page->first * page_blocks);
    return std::min({own, between == between_.end() ? blocks_ : between->first, blocks_});
}

}  // namespace blkscope::simulation
