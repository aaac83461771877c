#include "blockdev/backing/write_choice.hpp"

#include <algorithm>
#include <cassert>

namespace blkscope {
namespace {

// The number of writes that cover a range once.
constexpr uint16_t lap(size_t size_class) {
    return static_cast<uint16_t>(write_size::range_bytes / write_size::class_bytes_max[size_class]);
}

constexpr uint16_t trial_laps = 3;

// The copies of a trial after its first lap.
constexpr int later_copies(size_t size_class) {
    return (trial_laps - 1) * lap(size_class);
}

constexpr uint16_t own_count_min = 8;    // below it, a range uses the mean of all ranges
constexpr uint16_t all_count_max = 256;  // writes in the mean of all ranges
constexpr float outlier_times = 8;       // a longer write counts as this many times the mean

// A page whose first copy costs more than this many other writes would hardly pay in time.
constexpr float first_copy_max = 8;

// One write in so many begins a trial of another method than the best. With an expensive first
// copy, or to refresh the costs of others, it is a single write.
constexpr uint64_t trials_in_lap = 4;
constexpr uint64_t single_trial = 256;
constexpr uint64_t trials_per_ring_trial = 4;

constexpr bool is_small(size_t size_class) {
    return write_size::class_bytes_max[size_class] <= WriteChoice::small_bytes_max;
}

constexpr int64_t allowance(size_t size_class) {
    return is_small(size_class) ? WriteChoice::small_allowance_ns : WriteChoice::allowance_ns;
}

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

WriteChoice::Method WriteChoice::best_other(const Range& range, size_t size_class) const {
    const bool large = write_size::class_bytes_max[size_class] > ring_above_bytes;
    if (!large) return Method::pwrite;
    const float by_ring = cost(Method::ring, range, size_class);
    return by_ring < cost(Method::pwrite, range, size_class) ? Method::ring : Method::pwrite;
}

// A method that was never used costs 0, so each is used once first.
WriteChoice::Method WriteChoice::best(const Range& range, size_t size_class) const {
    const Method other = best_other(range, size_class);
    return cost(other, range, size_class) < cost(Method::map, range, size_class) ? other
                                                                                 : Method::map;
}

// Knuth's linear congruential generator. Only its upper half is random enough.
bool WriteChoice::one_in(uint64_t count) {
    assert(count > 0);
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return (random_ >> 32) % count == 0;
}

bool WriteChoice::may_try(size_t size_class, int64_t ns) const {
    assert(size_class < write_size::class_count && ns >= 0);
    const Spent& spent = spent_[size_class];
    const int64_t over = spent.trials_ns + ns - allowance(size_class);
    return over <= 0 || over * trial_share < spent.total_ns;
}

// True if the first copies of ranges have cost less than another method here.
bool WriteChoice::first_copies_pay(const Range& range, size_t size_class) const {
    const Mean& first = first_copies_[size_class];
    return first.count >= own_count_min &&
           first.ns < cost(best_other(range, size_class), range, size_class);
}

// Begins a trial of the mapping, if the first laps of all trials can be paid. Otherwise another
// method is used.
WriteChoice::Method WriteChoice::try_mapping(Range& range, size_t size_class) {
    assert(range.trial[size_class] == 0);
    const Method other = best_other(range, size_class);
    const float other_ns = cost(other, range, size_class);
    const float first_ns = first_copies_[size_class].ns;
    const auto excess_ns = static_cast<int64_t>(std::max(first_ns - other_ns, 0.0F));
    Spent& spent = spent_[size_class];
    if (first_ns > first_copy_max * other_ns) {
        const bool single = may_try(size_class, excess_ns) && one_in(single_trial / trials_in_lap);
        return single ? Method::map : other;
    }
    if (!may_try(size_class, excess_ns * (spent.first_copies + lap(size_class)))) return other;
    range.trial[size_class] = trial_laps * lap(size_class);
    spent.first_copies += lap(size_class);
    return Method::map;
}

// A trial that ends early has no result.
void WriteChoice::end_trial(Range& range, size_t size_class) {
    uint16_t& left = range.trial[size_class];
    spent_[size_class].first_copies -= std::max(left - later_copies(size_class), 0);
    assert(spent_[size_class].first_copies >= 0);
    left = 0;
    range.costs[size_class][index(Method::map)] = {};
}

void WriteChoice::not_copied(uint64_t offset, uint64_t bytes) {
    Range& range = ranges_.at(offset);
    const size_t size_class = write_size::class_of(bytes);
    if (range.trial[size_class] > 0) end_trial(range, size_class);
}

WriteChoice::Method WriteChoice::try_other(Method best_method, size_t size_class) {
    const bool large = write_size::class_bytes_max[size_class] > ring_above_bytes;
    if (!may_try(size_class, 0) || !one_in(single_trial)) return best_method;
    if (large && best_method != Method::ring && one_in(trials_per_ring_trial)) return Method::ring;
    return Method::pwrite;
}

WriteChoice::Method WriteChoice::choose(uint64_t offset, uint64_t bytes) {
    Range& range = ranges_.at(offset);
    const size_t size_class = write_size::class_of(bytes);
    if (range.trial[size_class] > 0) {
        // Some writes keep the other mean fresh, by which the copies of the trial are charged.
        const bool other = one_in(single_trial);
        if (may_try(size_class, 0)) return other ? best_other(range, size_class) : Method::map;
        end_trial(range, size_class);
    }
    const Method method = best(range, size_class);
    if (cost(method, range, size_class) == 0) return method;
    const bool is_known = range.costs[size_class][index(Method::map)].count >= own_count_min;
    if (!is_known && (method == Method::map || first_copies_pay(range, size_class))) {
        return try_mapping(range, size_class);
    }
    if (method != Method::map && one_in(std::max(lap(size_class) / trials_in_lap, uint64_t{1}))) {
        return try_mapping(range, size_class);
    }
    return try_other(method, size_class);
}

// A cheap copy of a trial pays for copies of trials. A cheap large copy pays for further trials, too.
// Small copies save hardly more than their pages cost again after each write-back. Where they are the
// best method they neither pay nor are charged.
void WriteChoice::charge(Method method, const Range& range, size_t size_class, float ns) {
    const bool copied = method == Method::map;
    const Method other = copied ? best_other(range, size_class) : best(range, size_class);
    const float other_ns = cost(other, range, size_class);
    if (other == method || other_ns == 0) return;
    const bool small = is_small(size_class);
    const bool in_trial = range.trial[size_class] > 0;
    const bool usual = copied && !in_trial && best(range, size_class) == Method::map;
    if (small && usual) return;  // no trial, even where a write-back made it fault
    const bool saves = copied && (!small || in_trial);
    const float excess = saves ? ns - other_ns : std::max(ns - other_ns, 0.0F);
    int64_t& trials_ns = spent_[size_class].trials_ns;
    const int64_t least_ns = small ? 0 : -allowance(size_class);
    trials_ns = std::max(trials_ns + static_cast<int64_t>(excess), least_ns);
}

// A copy is a first one in the first lap of a trial, and where it was tried by itself.
void WriteChoice::learn_copy(Range& range, size_t size_class, float ns) {
    assert(ns > 0);
    uint16_t& left = range.trial[size_class];
    Mean& own = range.costs[size_class][index(Method::map)];
    Mean& all = all_[size_class][index(Method::map)];
    const bool in_trial = left > 0;
    const bool in_first_lap = left > later_copies(size_class);
    const bool first = in_trial ? in_first_lap : best(range, size_class) != Method::map;
    const bool counts = in_trial ? left <= lap(size_class) : !first;
    if (in_trial && left == lap(size_class)) own = {};  // the last lap begins
    if (first || all.count == 0) average(first_copies_[size_class], ns, all_count_max);
    if (counts) average(own, ns, 2 * lap(size_class));
    if (counts || all.count == 0) average(all, ns, all_count_max);
    if (in_first_lap) --spent_[size_class].first_copies;
    assert(spent_[size_class].first_copies >= 0);
    if (in_trial) --left;
}

void WriteChoice::took(Method method, uint64_t offset, uint64_t bytes, int64_t ns) {
    const size_t size_class = write_size::class_of(bytes);
    const auto taken = static_cast<float>(std::max<int64_t>(ns, 1));
    Range& range = ranges_.at(offset);
    spent_[size_class].total_ns += std::max<int64_t>(ns, 0);
    charge(method, range, size_class, taken);
    if (method == Method::map) return learn_copy(range, size_class, taken);
    average(range.costs[size_class][index(method)], taken, 2 * lap(size_class));
    average(all_[size_class][index(method)], taken, all_count_max);
}

}  // namespace blkscope
