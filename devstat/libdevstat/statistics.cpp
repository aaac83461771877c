// devstat_compute_statistics and devstat_compute_etime: from two copies of an entry to figures.
#include <devstat.h>

#include <array>
#include <cmath>
#include <cstdarg>

#include "devstat/libdevstat/errors.hpp"

namespace blkscope::devstat {
namespace {

using Devstat = struct ::devstat;

// The kinds of transactions of a metric; `all` means every kind.
enum Kind { other = DEVSTAT_NO_DATA, read, write, freed, all };

long double seconds(const bintime& time) {
    return static_cast<long double>(time.sec) +
           std::ldexp(static_cast<long double>(time.frac), -64);
}

long double ratio(long double of, long double by) {
    return by > 0 ? of / by : 0;
}

// The activity between two copies, or since the creation. Counts wrap as in the entry.
class Interval {
  public:
    Interval(const Devstat& now, const Devstat* before, long double etime)
        : now_(now), before_(before), etime_(etime) {}

    // Transactions without data move no bytes, and are not in the sum.
    [[nodiscard]] uint64_t bytes(Kind kind) const {
        if (kind == all) return bytes(read) + bytes(write) + bytes(freed);
        return now_.bytes[kind] - (before_ != nullptr ? before_->bytes[kind] : 0);
    }

    [[nodiscard]] uint64_t transfers(Kind kind) const {
        if (kind != all) {
            return now_.operations[kind] - (before_ != nullptr ? before_->operations[kind] : 0);
        }
        return transfers(other) + transfers(read) + transfers(write) + transfers(freed);
    }

    [[nodiscard]] uint64_t blocks(Kind kind) const {
        constexpr uint32_t usual_block_size = 512;
        return bytes(kind) / (now_.block_size != 0 ? now_.block_size : usual_block_size);
    }

    [[nodiscard]] long double duration(Kind kind) const {
        if (kind != all) {
            return since(now_.duration[kind],
                         before_ != nullptr ? &before_->duration[kind] : nullptr);
        }
        long double sum = 0;
        for (const Kind each : {other, read, write, freed}) sum += duration(each);
        return sum;
    }

    [[nodiscard]] long double busy_time() const {
        return since(now_.busy_time, before_ != nullptr ? &before_->busy_time : nullptr);
    }

    [[nodiscard]] long double kb_per_transfer(Kind kind) const {
        return ratio(static_cast<long double>(bytes(kind)) / 1024,
                     static_cast<long double>(transfers(kind)));
    }

    [[nodiscard]] long double ms_per_transaction(Kind kind) const {
        return ratio(duration(kind) * 1000, static_cast<long double>(transfers(kind)));
    }

    [[nodiscard]] long double per_second(uint64_t count) const {
        return ratio(static_cast<long double>(count), etime_);
    }

    [[nodiscard]] long double mb_per_second(Kind kind) const {
        return ratio(static_cast<long double>(bytes(kind)) / (1024 * 1024), etime_);
    }

    // No check for zero: an interval of no length has no busy share, and the figure shows this.
    [[nodiscard]] long double busy_pct() const {
        const long double busy = busy_time();
        return (busy < 0 ? 0 : busy) / etime_ * 100;
    }

    // 32 bits, as in the counts, so that their wrapping has no effect.
    [[nodiscard]] uint64_t queue_length() const { return now_.start_count - now_.end_count; }

  private:
    static long double since(const bintime& now, const bintime* before) {
        return seconds(now) - (before != nullptr ? seconds(*before) : 0);
    }

    const Devstat& now_;
    const Devstat* before_;
    long double etime_;
};

enum class Quantity {
    bytes,
    transfers,
    blocks,
    kb_per_transfer,
    transfers_per_second,
    mb_per_second,
    blocks_per_second,
    ms_per_transaction,
    duration,
    skip,
    busy_pct,
    queue_length,
    busy_time
};

struct Metric {
    Quantity quantity;
    Kind kind;
};

// In the order of devstat_metric, from DSM_TOTAL_BYTES on.
constexpr std::array<Metric, DSM_MAX - 1> metrics{{
    {Quantity::bytes, all},
    {Quantity::bytes, read},
    {Quantity::bytes, write},
    {Quantity::transfers, all},
    {Quantity::transfers, read},
    {Quantity::transfers, write},
    {Quantity::transfers, other},
    {Quantity::blocks, all},
    {Quantity::blocks, read},
    {Quantity::blocks, write},
    {Quantity::kb_per_transfer, all},
    {Quantity::kb_per_transfer, read},
    {Quantity::kb_per_transfer, write},
    {Quantity::transfers_per_second, all},
    {Quantity::transfers_per_second, read},
    {Quantity::transfers_per_second, write},
    {Quantity::transfers_per_second, other},
    {Quantity::mb_per_second, all},
    {Quantity::mb_per_second, read},
    {Quantity::mb_per_second, write},
    {Quantity::blocks_per_second, all},
    {Quantity::blocks_per_second, read},
    {Quantity::blocks_per_second, write},
    {Quantity::ms_per_transaction, all},
    {Quantity::ms_per_transaction, read},
    {Quantity::ms_per_transaction, write},
    {Quantity::skip, all},
    {Quantity::bytes, freed},
    {Quantity::transfers, freed},
    {Quantity::blocks, freed},
    {Quantity::kb_per_transfer, freed},
    {Quantity::mb_per_second, freed},
    {Quantity::transfers_per_second, freed},
    {Quantity::blocks_per_second, freed},
    {Quantity::ms_per_transaction, other},
    {Quantity::ms_per_transaction, freed},
    {Quantity::busy_pct, all},
    {Quantity::queue_length, all},
    {Quantity::duration, all},
    {Quantity::duration, read},
    {Quantity::duration, write},
    {Quantity::duration, freed},
    {Quantity::duration, other},
    {Quantity::busy_time, all},
}};
static_assert(metrics[DSM_SKIP - 1].quantity == Quantity::skip);
static_assert(metrics[DSM_QUEUE_LENGTH - 1].quantity == Quantity::queue_length);

// `to` is a uint64_t or a long double, whichever the metric's figure is.
void compute(const Interval& interval, const Metric& metric, void* to) {
    const auto set = [to](auto figure) { *static_cast<decltype(figure)*>(to) = figure; };
    const Kind kind = metric.kind;
    switch (metric.quantity) {
        case Quantity::bytes:
            return set(interval.bytes(kind));
        case Quantity::transfers:
            return set(interval.transfers(kind));
        case Quantity::blocks:
            return set(interval.blocks(kind));
        case Quantity::kb_per_transfer:
            return set(interval.kb_per_transfer(kind));
        case Quantity::transfers_per_second:
            return set(interval.per_second(interval.transfers(kind)));
        case Quantity::mb_per_second:
            return set(interval.mb_per_second(kind));
        case Quantity::blocks_per_second:
            return set(interval.per_second(interval.blocks(kind)));
        case Quantity::ms_per_transaction:
            return set(interval.ms_per_transaction(kind));
        case Quantity::duration:
            return set(interval.duration(kind));
        case Quantity::skip:
            return;
        case Quantity::busy_pct:
            return set(interval.busy_pct());
        case Quantity::queue_length:
            return set(interval.queue_length());
        case Quantity::busy_time:
            return set(interval.busy_time());
    }
}

}  // namespace
}  // namespace blkscope::devstat

using namespace blkscope::devstat;

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT int devstat_compute_statistics(struct devstat* current, struct devstat* previous,
                                      long double etime, ...) {
    if (current == nullptr) {
        return fail("devstat_compute_statistics: current stats structure was NULL");
    }
    const Interval interval(*current, previous, etime);
    va_list pairs;
    va_start(pairs, etime);
    int result = 0;
    while (const unsigned metric = va_arg(pairs, unsigned)) {  // DSM_NONE is 0
        if (metric >= DSM_MAX) {
            result = fail("devstat_compute_statistics: metric " +
                          std::to_string(static_cast<int>(metric)) + " is out of range");
            break;
        }
        compute(interval, metrics[metric - 1], va_arg(pairs, void*));
    }
    va_end(pairs);
    return result;
}

EXPORT long double devstat_compute_etime(struct bintime* cur_time, struct bintime* prev_time) {
    const long double before = prev_time != nullptr ? seconds(*prev_time) : 0;
    return seconds(*cur_time) - before;
}

}  // extern "C"
