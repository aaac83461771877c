#include "blockdev/backing/write_choice.hpp"

#include <algorithm>
#include <cassert>

namespace blkscope {
namespace {

// The number of writes that cover a range twice.
constexpr uint16_t two_laps(size_t size_class) {
    return static_cast<uint16_t>(2 * write_size::range_bytes /
                                 write_size::class_bytes_max[size_class]);
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

constexpr size_t index(WriteChoice::Method method) {
    return static_cast<size_t>(method);
}

}  // namespace

void WriteChoice::average(Mean& mean, float ns, uint16_t window) {
    assert(ns > 0 && mean.count <= window);
    if (mean.count < window) ++mean.count;
    const float counted = mean.count == 1 ? ns : std::min(ns, mean.ns * outlier_times);
    assert(mean.count > 0);
    mean.ns += (counted - mean.ns) / static_cast<float>(mean.count);
    assert(mean.ns > 0);  // or the method would count as never used
}

float WriteChoice::cost(Method method, const Range& range, size_t size_class) const {
    assert(index(method) < method_count);
    assert(size_class < write_size::class_count);
    const Mean& own = range.costs[size_class][index(method)];
    return own.count >= own_count_min ? own.ns : all_[size_class][index(method)].ns;
}

int64_t WriteChoice::cost_ns(Method method, uint64_t offset, uint64_t bytes) const {
    return static_cast<int64_t>(cost(method, ranges_.at(offset), write_size::class_of(bytes)));
}

// A method that was never used costs 0, so each is used once first.
WriteChoice::Method WriteChoice::best(const Range& range, size_t size_class) const {
    const bool large = write_size::class_bytes_max[size_class] > ring_above_bytes;
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
    assert(size_class < write_size::class_count);
    const Spent& spent = spent_[size_class];
    const bool small = write_size::class_bytes_max[size_class] <= small_bytes_max;
    const int64_t left = (small ? small_allowance_ns : allowance_ns) - spent.trials_ns;
    const bool allowed = left > 0;
    if (!allowed && -left * trial_share >= spent.total_ns) return false;
    if (best_method == Method::map) return one_in(trial_of_others);
    return one_in(allowed ? trial_of_mapping_first : trial_of_mapping);
}

WriteChoice::Method WriteChoice::trial(Method best_method, size_t size_class) {
    const bool large = write_size::class_bytes_max[size_class] > ring_above_bytes;
    if (large && best_method != Method::ring && one_in(trials_per_ring_trial)) return Method::ring;
    return best_method == Method::map ? Method::pwrite : Method::map;
}

WriteChoice::Method WriteChoice::choose(uint64_t offset, uint64_t bytes) {
    const Range& range = ranges_.at(offset);
    const size_t size_class = write_size::class_of(bytes);
    const Method method = best(range, size_class);
    if (cost(method, range, size_class) == 0 || !is_time_to_try(method, size_class)) return method;
    return trial(method, size_class);
}

void WriteChoice::took(Method method, uint64_t offset, uint64_t bytes, int64_t ns) {
    const size_t size_class = write_size::class_of(bytes);
    const auto taken = static_cast<float>(std::max<int64_t>(ns, 1));
    const Range& now = ranges_.at(offset);
    spent_[size_class].total_ns += std::max<int64_t>(ns, 0);
    if (const Method best_method = best(now, size_class); best_method != method) {
        spent_[size_class].trials_ns +=
            std::max<int64_t>(ns - static_cast<int64_t>(cost(best_method, now, size_class)), 0);
    }
    assert(spent_[size_class].trials_ns <= spent_[size_class].total_ns);
    average(ranges_.at(offset).costs[size_class][index(method)], taken, two_laps(size_class));
    average(all_[size_class][index(method)], taken, all_count_max);
}

}  // namespace blkscope
