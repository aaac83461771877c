#include "blockdev/backing/unmap_choice.hpp"

#include <algorithm>

namespace blkscope {
namespace {

// A copy of 4 KiB takes 0.3 us. With a fault it takes 3 us for a small folio and 10 to 50 us for a
// large one.
constexpr int64_t long_ns_min = 8'000;
constexpr int64_t bytes_per_ns = 8;  // of the copy itself
// A copy of 128 KiB with one fault takes less than this. With a fault for each page it takes more.
constexpr int64_t fault_each_page_ns_min = 60'000;
constexpr uint64_t many_pages_bytes = 32768;

constexpr float faults_weight = 8;

// Copies are watched for a part of the range, while most of their pages are not mapped yet.
constexpr uint64_t watched_bytes = uint64_t{512} << 10;
constexpr uint64_t copies_watched_max = 64;
constexpr float helped_share = 0.6F;    // unmapping helps if no more than this share is left
constexpr float forget_share = 0.999F;  // old results lose weight, because the effect may change

}  // namespace

void UnmapChoice::copied(uint64_t offset, uint64_t bytes, int64_t ns) {
    Range& range = ranges_.at(offset);
    const int64_t faults_ns = std::max<int64_t>(ns - static_cast<int64_t>(bytes) / bytes_per_ns, 0);
    if (range.to_watch > 0) return watch(range, faults_ns);
    range.faults_ns += (static_cast<float>(faults_ns) - range.faults_ns) / faults_weight;
    const bool fault_each_page = bytes >= many_pages_bytes && faults_ns > fault_each_page_ns_min;
    if (fault_each_page) {
        range.long_faults = long_faults_max;
    } else if (faults_ns > long_ns_min && range.long_faults < long_faults_max) {
        ++range.long_faults;
    }
    if (range.long_faults < long_faults_max) return;
    if (!helps(range, write_size::class_of(bytes))) range.long_faults = 0;
    range.unmapped_ns *= forget_share;
}

void UnmapChoice::unmapped(uint64_t offset, uint64_t bytes) {
    assert(should_unmap(offset));
    assert(bytes > 0 && bytes <= write_size::bytes_max);
    Range& range = ranges_.at(offset);
    range.long_faults = 0;
    range.watched = 0;
    range.watched_ns = 0;
    range.watched_class = static_cast<uint8_t>(write_size::class_of(bytes));
    range.to_watch = static_cast<uint8_t>(std::min(watched_bytes / bytes, copies_watched_max));
    assert(range.to_watch > 0);
}

// Counts a copy after the range was unmapped.
void UnmapChoice::watch(Range& range, int64_t faults_ns) {
    assert(range.to_watch > 0 && range.watched < copies_watched_max);
    ++range.watched;
    range.watched_ns += static_cast<float>(faults_ns);
    if (--range.to_watch > 0) return;
    range.unmapped_ns = std::max(range.watched_ns / static_cast<float>(range.watched), 1.0F);
    range.faults_ns = range.unmapped_ns;
    assert(range.watched_class < write_size::class_count);
    float& all = unmapped_ns_[range.watched_class];
    all += (range.unmapped_ns - all) / (all == 0 ? 1 : faults_weight);
}

// Without an earlier result, unmapping is tried.
bool UnmapChoice::helps(const Range& range, size_t size_class) const {
    assert(size_class < write_size::class_count);
    const bool own = range.unmapped_ns > 0 && range.watched_class == size_class;
    const float expected = own ? range.unmapped_ns : unmapped_ns_[size_class];
    return expected < helped_share * range.faults_ns;
}

}  // namespace blkscope
