#include "tools/iostat/processors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace blkscope::iostat {

namespace {

// The sums over all processors.
struct Sums {
    double idle = 0;
    double user = 0;
    double kernel = 0;
    double wait = 0;
    double dtrace_ns = 0;
    double elapsed_ns = 0;
    double in = 0;
    double out = 0;

    [[nodiscard]] double ticks() const { return idle + user + kernel + wait; }
};

const Processor* find(const Processors& processors, int id) {
    const auto found = std::ranges::find(processors, id, &Processor::id);
    return found == processors.end() ? nullptr : &*found;
}

double grown(uint64_t before, uint64_t now) {
    return static_cast<double>(static_cast<int64_t>(now - before));
}

void add(Sums& sums, const Processor& before, const Processor& now) {
    sums.idle += grown(before.idle_ticks, now.idle_ticks);
    sums.user += grown(before.user_ticks, now.user_ticks);
    sums.kernel += grown(before.kernel_ticks, now.kernel_ticks);
    sums.wait += grown(before.wait_ticks, now.wait_ticks);
    sums.dtrace_ns += grown(before.dtrace_ns, now.dtrace_ns);
    sums.elapsed_ns += static_cast<double>(now.snaptime - before.snaptime);
    sums.in += grown(before.characters_in, now.characters_in);
    sums.out += grown(before.characters_out, now.characters_out);
}

double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

// The time for the rates of terminals is counted in ticks. Without ticks, it is the interval.
double terminal_seconds(const Sums& sums, size_t processors, const Options& options) {
    if (options.counts) return 1;
    const double ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
    const double counted = sums.ticks() / static_cast<double>(processors) / ticks_per_s;
    if (counted > 0) return counted;
    return options.interval_s.value_or(1);
}

// The processors that are not in `others`.
std::vector<int> missing_from(const Processors& others, const Processors& processors) {
    std::vector<int> ids;
    for (const Processor& processor : processors) {
        if (find(others, processor.id) == nullptr) ids.push_back(processor.id);
    }
    return ids;
}

}  // namespace

Processor sum_of(const Processors& processors) {
    Processor sum;
    for (const Processor& processor : processors) {
        sum.user_ticks += processor.user_ticks;
        sum.kernel_ticks += processor.kernel_ticks;
        sum.wait_ticks += processor.wait_ticks;
        sum.idle_ticks += processor.idle_ticks;
        sum.dtrace_ns += processor.dtrace_ns;
        sum.characters_in += processor.characters_in;
        sum.characters_out += processor.characters_out;
    }
    return sum;
}

ProcessorFigures processor_figures(const Processors* before, const Processors& now,
                                   const Options& options) {
    if (now.empty()) return {};
    Sums sums;
    for (const Processor& processor : now) {
        const Processor* old = before != nullptr ? find(*before, processor.id) : nullptr;
        add(sums, old != nullptr ? *old : Processor{}, processor);
    }
    const double seconds = terminal_seconds(sums, now.size(), options);
    return {.user = percent(sums.user, sums.ticks()),
            .system = percent(sums.kernel, sums.ticks()),
            .dtrace = percent(sums.dtrace_ns, sums.elapsed_ns),
            .idle = percent(sums.idle, sums.ticks()),
            .characters_in = sums.in / seconds,
            .characters_out = sums.out / seconds};
}

bool same_processors(const Processors& before, const Processors& now) {
    return std::ranges::equal(before, now, {}, &Processor::id, &Processor::id);
}

std::vector<std::string> processor_changes(const Processors& before, const Processors& now) {
    std::vector<std::string> changes;
    const auto tell = [&](const std::vector<int>& ids, std::string_view verb) {
        if (ids.empty()) return;
        changes.push_back(fmt::format("processors {}: {}", verb, fmt::join(ids, ", ")));
    };
    tell(missing_from(now, before), "removed");
    tell(missing_from(before, now), "added");
    return changes;
}

}  // namespace blkscope::iostat
