// The arithmetic of histograms: the bucket of a value, and the bounds of a bucket.
//
//     LOG2                      0 | 1 | 2-3 | 4-7 | ...                           65 buckets
//     LOG10                     0 | 1-9 | 10-99 | ...                             21 buckets
//     LINEAR(lo, hi, step)      below lo | lo ... | lo+step ... | ... | hi and above
//     LOG10_LIN(a, b, steps)    below 10^a | each decade 10^k in steps of 10^(k+1)/steps |
//                               10^(b+1) and above
//
// Bucket i holds the values from lower(i) to upper(i), both included. Buckets follow one another
// without a gap and the last one ends at 2^64-1. With lo = 0 a linear histogram has a bucket for
// zero alone. The first step of a decade is short if 10^k is no multiple of the width. Example:
// with steps = 5 the buckets are 1000-1999, then 2000-3999. If hi is 0, a linear histogram has no
// upper bound but the 16 bits of a bucket count.
//
// All arithmetic is in integers: a logarithm in floating point puts 10^15 - 1 into the wrong
// decade. Counting a value needs no division.
//
// Units:     the caller's. Ownership: a value; allocates nothing.
// Threads:   any, on a constant object.
// Errors:    why_invalid() says what is wrong with a shape; all other functions need a valid one.
// Source:    kstat2_create_histogram(9F).
#pragma once

#include <sys/kstat2.h>

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <limits>

namespace blkscope::kstat2 {

/// Limit of a histogram's buckets: their number is a uint16_t.
inline constexpr uint32_t buckets_max = 65535;

namespace detail {

__extension__ using Wide = unsigned __int128;

inline constexpr uint64_t value_max = std::numeric_limits<uint64_t>::max();

inline constexpr auto powers_of_10 = [] {
    std::array<uint64_t, 20> powers{1};
    for (size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
    return powers;
}();

/// By the number of a value's binary digits: the decade of the largest value with that many digits.
inline constexpr auto highest_decade = [] {
    std::array<uint8_t, 65> decades{};
    for (unsigned bits = 1; bits < decades.size(); ++bits) {
        const uint64_t largest = value_max >> (64 - bits);
        uint8_t decade = 19;
        while (powers_of_10[decade] > largest) --decade;
        decades[bits] = decade;
    }
    return decades;
}();

/// The k with 10^k <= value < 10^(k+1). Not for 0.
constexpr unsigned decade_of(uint64_t value) {
    const unsigned decade = highest_decade[static_cast<size_t>(std::bit_width(value))];
    return decade - (value < powers_of_10[decade] ? 1U : 0U);
}

/// Division by a number that is fixed long before the value: one multiplication, and a correction.
struct Divisor {
    uint64_t number = 1;
    uint64_t reciprocal = value_max;  // of number, times 2^64, rounded down

    constexpr Divisor() = default;
    constexpr explicit Divisor(uint64_t by) : number(by), reciprocal(value_max / by) {}

    constexpr uint64_t quotient_of(uint64_t value) const {
        // The reciprocal is short by less than 2 / 2^64 of value / number. The product is therefore
        // the quotient or one less.
        const auto guess = static_cast<uint64_t>((Wide{value} * reciprocal) >> 64);
        return guess + (value - guess * number >= number ? 1U : 0U);
    }
};

}  // namespace detail

class Buckets {
  public:
    /// Takes any shape; the caller calls why_invalid() before all other functions.
    constexpr Buckets(kstat2_nv_hist_type_t type, uint64_t range_min, uint64_t range_max,
                      uint64_t stepping)
        : type_(type), range_min_(range_min), range_max_(range_max), stepping_(stepping) {
        why_invalid_ = find_fault();
        if (why_invalid_ != nullptr) return;
        if (type == KSTAT2_NVHIST_LINEAR) prepare_linear();
        if (type == KSTAT2_NVHIST_LOG10_LIN) prepare_decades();
        if (type == KSTAT2_NVHIST_LOG2) count_ = 65;
        if (type == KSTAT2_NVHIST_LOG10) count_ = 21;
    }

    /// Null for a valid shape, else the reason why it is invalid.
    constexpr const char* why_invalid() const { return why_invalid_; }

    constexpr kstat2_nv_hist_type_t type() const { return type_; }
    constexpr uint64_t range_min() const { return range_min_; }
    constexpr uint64_t range_max() const { return range_max_; }
    constexpr uint64_t stepping() const { return stepping_; }

    /// The number of buckets; for a linear histogram without an upper bound, the largest number.
    constexpr uint32_t count() const { return count_; }

    /// False for a linear histogram without an upper bound, whose array grows with its values.
    constexpr bool is_bounded() const { return type_ != KSTAT2_NVHIST_LINEAR || range_max_ != 0; }

    /// Whether the range and the stepping mean anything for this type.
    constexpr bool is_ranged() const {
        return type_ == KSTAT2_NVHIST_LINEAR || type_ == KSTAT2_NVHIST_LOG10_LIN;
    }

    /// The bucket of `value`; below count().
    constexpr uint32_t index(uint64_t value) const {
        switch (type_) {
            case KSTAT2_NVHIST_LINEAR:
                return linear_index(value);
            case KSTAT2_NVHIST_LOG2:
                return static_cast<uint32_t>(std::bit_width(value));
            case KSTAT2_NVHIST_LOG10:
                return value == 0 ? 0 : detail::decade_of(value) + 1;
            case KSTAT2_NVHIST_LOG10_LIN:
                return decade_index(value);
        }
        return 0;
    }

    /// The smallest value of bucket `i`.
    constexpr uint64_t lower(uint32_t i) const {
        assert(i < count_);
        if (i == 0) return 0;
        switch (type_) {
            case KSTAT2_NVHIST_LINEAR:
                return i == 1 ? first_ : range_min_ + (i - 1) * stepping_;
            case KSTAT2_NVHIST_LOG2:
                return uint64_t{1} << (i - 1);
            case KSTAT2_NVHIST_LOG10:
                return detail::powers_of_10[i - 1];
            case KSTAT2_NVHIST_LOG10_LIN:
                return decade_lower(i - 1);
        }
        return 0;
    }

    /// The largest value of bucket `i`. In a linear histogram with range_min 0 and stepping 1, the
    /// second bucket stays empty. Its upper bound is below lower(i).
    constexpr uint64_t upper(uint32_t i) const {
        assert(i < count_);
        return i + 1 == count_ ? detail::value_max : lower(i + 1) - 1;
    }

  private:
    struct Decade {
        detail::Divisor width;
        uint32_t base = 0;  // index() adds it to value / width, modulo 2^32
    };

    constexpr const char* find_fault() const {
        switch (type_) {
            case KSTAT2_NVHIST_LINEAR:
                return find_linear_fault();
            case KSTAT2_NVHIST_LOG2:
            case KSTAT2_NVHIST_LOG10:
                return nullptr;
            case KSTAT2_NVHIST_LOG10_LIN:
                return find_decade_fault();
        }
        return "unknown histogram type";
    }

    constexpr const char* find_linear_fault() const {
        if (stepping_ == 0) return "stepping is 0";
        if (range_max_ == 0) return nullptr;
        if (range_max_ <= range_min_) return "range_max is not above range_min";
        const uint64_t range = range_max_ - range_min_;
        if (range % stepping_ != 0) return "stepping does not divide range_max - range_min";
        return range / stepping_ > buckets_max - 2 ? "more than 65535 buckets" : nullptr;
    }

    constexpr const char* find_decade_fault() const {
        if (stepping_ == 0) return "stepping is 0";
        if (range_min_ > range_max_) return "range_min is above range_max";
        if (range_max_ > 18) return "range_max is above 18";
        if (detail::powers_of_10[range_min_ + 1] % stepping_ != 0) {
            return "stepping does not divide the first decade into whole steps";
        }
        const detail::Wide decades = range_max_ - range_min_ + 1;
        return decades * steps_per_decade() > buckets_max - 2 ? "more than 65535 buckets" : nullptr;
    }

    constexpr uint64_t steps_per_decade() const { return stepping_ - stepping_ / 10; }

    constexpr void prepare_linear() {
        first_ = range_min_ == 0 ? 1 : range_min_;
        step_ = detail::Divisor(stepping_);
        const uint64_t end = is_bounded() ? range_max_ : detail::value_max;
        const uint64_t steps = (end - range_min_) / stepping_;
        count_ = steps > buckets_max - 2 ? buckets_max : static_cast<uint32_t>(steps + 2);
    }

    constexpr void prepare_decades() {
        const auto per = static_cast<uint32_t>(steps_per_decade());
        const auto first = static_cast<uint32_t>(range_min_);
        const auto last = static_cast<uint32_t>(range_max_);
        for (uint32_t k = first; k <= last; ++k) {
            Decade& decade = decades_[k];
            decade.width = detail::Divisor(detail::powers_of_10[k + 1] / stepping_);
            const uint64_t skipped = detail::powers_of_10[k] / decade.width.number;
            decade.base = 1 + (k - first) * per - static_cast<uint32_t>(skipped);
        }
        per_ = per;
        first_ = detail::powers_of_10[first];
        end_ = detail::powers_of_10[last + 1];
        count_ = 2 + (last - first + 1) * per;
    }

    constexpr uint32_t linear_index(uint64_t value) const {
        if (value < first_) return 0;
        const uint64_t steps = step_.quotient_of(value - range_min_);
        return steps < count_ - 1 ? static_cast<uint32_t>(steps) + 1 : count_ - 1;
    }

    constexpr uint32_t decade_index(uint64_t value) const {
        if (value < first_) return 0;
        if (value >= end_) return count_ - 1;
        const Decade& decade = decades_[detail::decade_of(value)];
        return decade.base + static_cast<uint32_t>(decade.width.quotient_of(value));
    }

    constexpr uint64_t decade_lower(uint32_t steps) const {
        const uint64_t k = range_min_ + steps / per_;
        const uint32_t step = steps % per_;
        const uint64_t start = detail::powers_of_10[k];
        if (step == 0) return start;  // also for the last bucket, which begins at the next decade
        const uint64_t width = decades_[k].width.number;
        return (start / width + step) * width;
    }

    kstat2_nv_hist_type_t type_;
    uint32_t count_ = 0;
    uint32_t per_ = 1;  // buckets per decade
    uint64_t range_min_;
    uint64_t range_max_;
    uint64_t stepping_;
    uint64_t first_ = 0;  // the lower bound of bucket 1, of LINEAR and LOG10_LIN
    uint64_t end_ = 0;    // the lower bound of the last bucket, of LOG10_LIN
    detail::Divisor step_;
    std::array<Decade, 19> decades_{};  // by power of ten, of LOG10_LIN
    const char* why_invalid_ = nullptr;
};

}  // namespace blkscope::kstat2
