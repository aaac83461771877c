#include "blockdev/backing/page_set.hpp"

#include <algorithm>
#include <bit>

#include "base/throw_errno.hpp"

namespace blkscope {

PageSet::PageSet(uint64_t pages)
    : memory_((pages + word_bits - 1) / word_bits * sizeof(uint64_t)),
      words_(reinterpret_cast<uint64_t*>(memory_.start())),
      bytes_(memory_.size_bytes()) {
    assert(pages > 0);
    if (words_ == nullptr) throw_errno("reserve memory for a page map");
}

void PageSet::set(uint64_t first, uint64_t end, bool value) {
    assert(first <= end);
    assert(end <= bytes_ * bits_per_byte);
    while (first < end) {
        const uint64_t bit = first % word_bits;
        const uint64_t count = std::min(end - first, word_bits - bit);
        const uint64_t mask = (~uint64_t{0} >> (word_bits - count)) << bit;
        const uint64_t was = word(first);
        const uint64_t wanted = value ? was | mask : was & ~mask;
        if (was != wanted) {  // a page that stays all zeroes must not become resident
            std::atomic_ref<uint64_t>(words_[first / word_bits])
                .store(wanted, std::memory_order_relaxed);
        }
        first += count;
    }
}

PageSet::Run PageSet::run(uint64_t first, uint64_t end) const {
    assert(first < end);
    assert(end <= bytes_ * bits_per_byte);
    // For a run of ones the bits are inverted, so that every run ends at the next one bit.
    const bool present = contains(first);
    const uint64_t turn = present ? ~uint64_t{0} : 0;
    uint64_t at = first;
    while (at < end) {
        const uint64_t bit = at % word_bits;
        const uint64_t others = (word(at) ^ turn) >> bit;
        if (others != 0) {
            at += static_cast<uint64_t>(std::countr_zero(others));
            break;
        }
        at += word_bits - bit;
    }
    // Another thread may have changed the first page meanwhile.
    return {std::max<uint64_t>(std::min(at, end) - first, 1), present};
}

}  // namespace blkscope
