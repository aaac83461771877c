// devstat_compute_statistics and devstat_compute_etime: from two copies of an entry to figures.
#include <devstat.h>

#include <array>
#include <cmath>
#include <cstdarg>
#include <variant>

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

    [[nodiscard]] long double busy_time(Kind = all) const {
        return since(now_.busy_time, before_ != nullptr ? &before_->busy_time : nullptr);
    }

    [[nodiscard]] long double kb_per_transfer(Kind kind) const {
        return ratio(static_cast<long double>(bytes(kind)) / 1024,
                     static_cast<long double>(transfers(kind)));
    }

    [[nodiscard]] long double ms_per_transaction(Kind kind) const {
        return ratio(duration(kind) * 1000, static_cast<long double>(transfers(kind)));
    }

    [[nodiscard]] long double transfers_per_second(Kind kind) const {
        return ratio(static_cast<long double>(transfers(kind)), etime_);
    }

    [[nodiscard]] long double blocks_per_second(Kind kind) const {
        return ratio(static_cast<long double>(blocks(kind)), etime_);
    }

    [[nodiscard]] long double mb_per_second(Kind kind) const {
        return ratio(static_cast<long double>(bytes(kind)) / (1024 * 1024), etime_);
    }

    // No check for zero: an interval of no length has no busy share, and the figure shows this.
    [[nodiscard]] long double busy_pct(Kind) const {
        const long double busy = busy_time();
        return (busy < 0 ? 0 : busy) / etime_ * 100;
    }

    // 32 bits, as in the counts, so that their wrapping has no effect.
    [[nodiscard]] uint64_t queue_length(Kind) const { return now_.start_count - now_.end_count; }

  private:
    static long double since(const bintime& now, const bintime* before) {
        return seconds(now) - (before != nullptr ? seconds(*before) : 0);
    }

    const Devstat& now_;
    const Devstat* before_;
    long double etime_;
};

using Count = uint64_t (Interval::*)(Kind) const;
using Figure = long double (Interval::*)(Kind) const;

struct Metric {
    std::variant<std::monostate, Count, Figure> figure;  // none: the metric is skipped
    Kind kind;
};

// In the order of devstat_metric, from DSM_TOTAL_BYTES on.
constexpr std::array<Metric, DSM_MAX - 1> metrics{{
    {&Interval::bytes, all},
    {&Interval::bytes, read},
    {&Interval::bytes, write},
    {&Interval::transfers, all},
    {&Interval::transfers, read},
    {&Interval::transfers, write},
    {&Interval::transfers, other},
    {&Interval::blocks, all},
    {&Interval::blocks, read},
    {&Interval::blocks, write},
    {&Interval::kb_per_transfer, all},
    {&Interval::kb_per_transfer, read},
    {&Interval::kb_per_transfer, write},
    {&Interval::transfers_per_second, all},
    {&Interval::transfers_per_second, read},
    {&Interval::transfers_per_second, write},
    {&Interval::transfers_per_second, other},
    {&Interval::mb_per_second, all},
    {&Interval::mb_per_second, read},
    {&Interval::mb_per_second, write},
    {&Interval::blocks_per_second, all},
    {&Interval::blocks_per_second, read},
    {&Interval::blocks_per_second, write},
    {&Interval::ms_per_transaction, all},
    {&Interval::ms_per_transaction, read},
    {&Interval::ms_per_transaction, write},
    {{}, all},
    {&Interval::bytes, freed},
    {&Interval::transfers, freed},
    {&Interval::blocks, freed},
    {&Interval::kb_per_transfer, freed},
    {&Interval::mb_per_second, freed},
    {&Interval::transfers_per_second, freed},
    {&Interval::blocks_per_second, freed},
    {&Interval::ms_per_transaction, other},
    {&Interval::ms_per_transaction, freed},
    {&Interval::busy_pct, all},
    {&Interval::queue_length, all},
    {&Interval::duration, all},
    {&Interval::duration, read},
    {&Interval::duration, write},
    {&Interval::duration, freed},
    {&Interval::duration, other},
    {&Interval::busy_time, all},
}};
static_assert(metrics[DSM_SKIP - 1].figure.index() == 0);
static_assert(metrics[DSM_QUEUE_LENGTH - 1].figure.index() == 1);  // a count between shares

// `to` is a uint64_t or a long double, whichever the metric's figure is.
void compute(const Interval& interval, const Metric& metric, void* to) {
    const auto set = [&](auto figure) { *static_cast<decltype(figure)*>(to) = figure; };
    if (const auto* count = std::get_if<Count>(&metric.figure)) {
        set((interval.**count)(metric.kind));
    } else if (const auto* figure = std::get_if<Figure>(&metric.figure)) {
        set((interval.**figure)(metric.kind));
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
