// The oracle's part for a loss of power.

#include <algorithm>
#include <cassert>
#include <cstring>

#include "oracle.hpp"

namespace blkscope::simulation {

std::string Oracle::power_lost(const Image& content, uint64_t cache_bytes, hrtime_t now) {
    std::string wrong = check_disk(content, now);
    assert(cache_bytes == block_bytes || cache_bytes == page_bytes);
    if (cache_bytes > block_bytes) {
        for (const auto& [page, bytes] : content.pages()) {
            if (wrong.empty()) wrong = check_tear(content, page);
        }
    }
    for (Write& write : writes_) {
        if (write.ended != never) continue;
        write.ended = now - 1;
        write.lost = true;
    }
    take_content(content, Effect::content, now);
    return wrong;
}

// Whether the block has neither the data of this write nor that of a later one: what it has was over when the write
// began. Data of which this is not certain does not count.
bool Oracle::came_before(uint64_t block, const Write& write, uint64_t word) const {
    const auto over_before = [&](uint64_t number) { return writes_[number].ended < write.begun; };
    const bool zeroed = std::ranges::any_of(of_block_.of(block), [&](uint32_t number) {
        const Effect effect = writes_[number].effect;
        return effect != Effect::data && effect != Effect::content;
    });
    if (word == 0 && zeroed) return false;
    if (word == contents_.back().word(block)) return over_before(contents_.back().write);
    const uint64_t number = number_of(word);
    return word != 0 && number < writes_.size() && over_before(number);
}

// A tear is at one sector: before it, the page has one version, and behind it an older one. So no block has a write
// that an earlier block of the page has not, if the write covers both.
std::string Oracle::check_tear(const Image& content, uint64_t page) const {
    const uint64_t first = page * page_sectors;
    for (uint64_t newer = first + 1; newer < first + page_sectors; ++newer) {
        uint64_t word = 0;
        std::memcpy(&word, content.sector(newer).data(), sizeof word);
        if (word == 0 || word == contents_.back().word(newer)) continue;
        const Write& write = writes_.at(number_of(word));
        for (uint64_t older = std::max(first, write.first); older < newer; ++older) {
            uint64_t before = 0;
            std::memcpy(&before, content.sector(older).data(), sizeof before);
            if (!came_before(older, write, before)) continue;
            return "block " + std::to_string(newer) + " has a write that block " +
                   std::to_string(older) + " of its page has not";
        }
    }
    return {};
}

}  // namespace blkscope::simulation
