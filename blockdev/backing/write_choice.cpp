#include "blockdev/backing/write_choice.hpp"

#include <algorithm>
#include <cassert>
#include <new>

namespace blkscope {
namespace {

// The largest write of each class of sizes, and the number of writes that cover a range twice.
constexpr std::array<uint64_t, 4> class_bytes_max{4096, 16384, 65536, WriteChoice::write_bytes_max};
constexpr uint16_t two_laps(size_t size_class) {
    return static_cast<uint16_t>(2 * WriteChoice::range_bytes / class_bytes_max[size_class]);
}

constexpr uint16_t own_count_min = 8;    // below it, a range uses the mean of all ranges
constexpr uint16_t all_count_max = 256;  // writes in the mean of all ranges
constexpr float outlier_times = 8;       // a longer write counts as this many times the mean

// One in so many writes is a trial of another than the best method. A mapping gets cheaper with
// use, so it is tried often. Trials of other methods only refresh their costs.
constexpr uint64_t trial_of_mapping_first = 2;  // while the allowance lasts
constexpr uint64_t trial_of_mapping = 4;
constexpr uint64_t trial_of_others = 256;
constexpr uint64_t trials_per_ring_trial = 16;

// A copy of 4 KiB takes 0.3 us. With a fault it takes 3 us for a small folio and 10 to 50 us for a
// large one.
constexpr int64_t long_ns_min = 8'000;
constexpr int64_t bytes_per_ns = 8;  // of the copy itself
// A copy of 128 KiB with one fault takes less than this. With a fault for each page it takes more.
constexpr int64_t fault_each_page_ns_min = 60'000;
constexpr uint64_t many_pages_bytes = 32768;

// A range with only a few writes between flushes stays mapped.
constexpr uint8_t long_faults_max = 16;
constexpr float faults_weight = 8;

// Copies are watched for a part of the range, while most of their pages are not mapped yet.
constexpr uint64_t watched_bytes = uint64_t{512} << 10;
constexpr uint64_t copies_watched_max = 64;
constexpr float helped_share = 0.6F;    // unmapping helps if no more than this share is left
constexpr float forget_share = 0.999F;  // old results lose weight, because the effect may change

constexpr size_t index(WriteChoice::Method method) {
    return static_cast<size_t>(method);
}

}  // namespace

WriteChoice::WriteChoice(uint64_t size_bytes)
    : range_count_(size_bytes / range_bytes + 1),
      ranges_(static_cast<Range*>(std::calloc(range_count_, sizeof(Range)))) {
    assert(size_bytes > 0);
    if (ranges_ == nullptr) throw std::bad_alloc();
}

size_t WriteChoice::class_of(uint64_t bytes) {
    assert(bytes > 0 && bytes <= write_bytes_max);
    size_t size_class = 0;
    while (bytes > class_bytes_max[size_class]) ++size_class;
    return size_class;
}

const WriteChoice::Range& WriteChoice::range_of(uint64_t offset) const {
    assert(offset / range_bytes < range_count_);
    return ranges_[offset / range_bytes];
}

void WriteChoice::average(Mean& mean, float ns, uint16_t window) {
    assert(ns > 0 && mean.count <= window);
    if (mean.count < window) ++mean.count;
    const float counted = mean.count == 1 ? ns : std::min(ns, mean.ns * outlier_times);
    assert(mean.count > 0);
    mean.ns += (counted - mean.ns) / mean.count;
    assert(mean.ns > 0);  // or the method would count as never used
}

float WriteChoice::cost(Method method, const Range& range, size_t size_class) const {
    assert(index(method) < method_count);
    assert(size_class < class_count);
    const Mean& own = range.costs[size_class][index(method)];
    return own.count >= own_count_min ? own.ns : all_[size_class][index(method)].ns;
}

int64_t WriteChoice::cost_ns(Method method, uint64_t offset, uint64_t bytes) const {
    return static_cast<int64_t>(cost(method, range_of(offset), class_of(bytes)));
}

// A method that was never used costs 0, so each is used once first.
WriteChoice::Method WriteChoice::best(const Range& range, size_t size_class) const {
    const bool large = class_bytes_max[size_class] > ring_above_bytes;
    Method method = Method::map;
    for (const Method other : {Method::pwrite, Method::ring}) {
        if (other == Method::ring && !large) continue;
        if (cost(other, range, size_class) < cost(method, range, size_class)) method = other;
    }
    return method;
}

// Knuth's linear congruential generator. Only its upper half is random enough.
bool WriteChoice::one_in(uint64_t count) {
    assert(count > 0);
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return (random_ >> 32) % count == 0;
}

bool WriteChoice::is_time_to_try(Method best_method, size_t size_class) {
    assert(size_class < class_count);
    const Spent& spent = spent_[size_class];
    const int64_t left = (size_class == 0 ? small_allowance_ns : allowance_ns) - spent.trials_ns;
    const bool allowed = left > 0;
    if (!allowed && -left * trial_share >= spent.total_ns) return false;
    if (best_method == Method::map) return one_in(trial_of_others);
    return one_in(allowed ? trial_of_mapping_first : trial_of_mapping);
}

WriteChoice::Method WriteChoice::trial(Method best_method, size_t size_class) {
    const bool large = class_bytes_max[size_class] > ring_above_bytes;
    if (large && best_method != Method::ring && one_in(trials_per_ring_trial)) return Method::ring;
    return best_method == Method::map ? Method::pwrite : Method::map;
}

WriteChoice::Method WriteChoice::choose(uint64_t offset, uint64_t bytes) {
    const Range& range = range_of(offset);
    const size_t size_class = class_of(bytes);
    const Method method = best(range, size_class);
    if (cost(method, range, size_class) == 0 || !is_time_to_try(method, size_class)) return method;
    return trial(method, size_class);
}

void WriteChoice::took(Method method, uint64_t offset, uint64_t bytes, int64_t ns) {
    const size_t size_class = class_of(bytes);
    const auto taken = static_cast<float>(std::max<int64_t>(ns, 1));
    const Range& now = range_of(offset);
    spent_[size_class].total_ns += std::max<int64_t>(ns, 0);
    if (const Method best_method = best(now, size_class); best_method != method) {
        spent_[size_class].trials_ns +=
            std::max<int64_t>(ns - static_cast<int64_t>(cost(best_method, now, size_class)), 0);
    }
    assert(spent_[size_class].trials_ns <= spent_[size_class].total_ns);
    average(ranges_[offset / range_bytes].costs[size_class][index(method)], taken,
            two_laps(size_class));
    average(all_[size_class][index(method)], taken, all_count_max);
}

bool WriteChoice::should_unmap(uint64_t offset, uint64_t bytes, int64_t ns) {
    const size_t size_class = class_of(bytes);
    assert(offset / range_bytes < range_count_);
    Range& range = ranges_[offset / range_bytes];
    const int64_t faults_ns = std::max<int64_t>(ns - static_cast<int64_t>(bytes) / bytes_per_ns, 0);
    if (range.to_watch > 0) {
        watch(range, faults_ns);
        return false;
    }
    range.faults_ns += (static_cast<float>(faults_ns) - range.faults_ns) / faults_weight;
    const bool fault_each_page = bytes >= many_pages_bytes && faults_ns > fault_each_page_ns_min;
    if (fault_each_page) {
        range.long_faults = long_faults_max;
    } else if (faults_ns > long_ns_min) {
        ++range.long_faults;
    }
    if (range.long_faults < long_faults_max) return false;
    range.long_faults = 0;
    if (!unmapping_helps(range, size_class)) return false;
    range.watched = 0;
    range.watched_ns = 0;
    range.watched_class = static_cast<uint8_t>(size_class);
    range.to_watch = static_cast<uint8_t>(std::min(watched_bytes / bytes, copies_watched_max));
    assert(range.to_watch > 0);
    return true;
}

// Counts a copy after the range was unmapped.
void WriteChoice::watch(Range& range, int64_t faults_ns) {
    assert(range.to_watch > 0 && range.watched < copies_watched_max);
    ++range.watched;
    range.watched_ns += static_cast<float>(faults_ns);
    if (--range.to_watch > 0) return;
    range.unmapped_ns = std::max(range.watched_ns / static_cast<float>(range.watched), 1.0F);
    range.faults_ns = range.unmapped_ns;
    assert(range.watched_class < class_count);
    float& all = unmapped_ns_[range.watched_class];
    all += (range.unmapped_ns - all) / (all == 0 ? 1 : faults_weight);
}

// Without an earlier result, unmapping is tried.
bool WriteChoice::unmapping_helps(Range& range, size_t size_class) {
    assert(size_class < class_count);
    const bool own = range.unmapped_ns > 0 && range.watched_class == size_class;
    const float expected = own ? range.unmapped_ns : unmapped_ns_[size_class];
    range.unmapped_ns *= forget_share;
    return expected < helped_share * range.faults_ns;
}

}  // namespace blkscope
