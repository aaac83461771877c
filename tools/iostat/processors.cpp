#include "tools/iostat/processors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace blkscope::iostat {
namespace {

const Processor* find(const Processors& processors, int id) {
    const auto found = std::ranges::find(processors, id, &Processor::id);
    return found == processors.end() ? nullptr : &*found;
}

// Adds what each counter has grown by. A sum wraps as its counters do.
void add(Processor& sum, const Processor& before, const Processor& now) {
    sum.idle_ticks += now.idle_ticks - before.idle_ticks;
    sum.user_ticks += now.user_ticks - before.user_ticks;
    sum.kernel_ticks += now.kernel_ticks - before.kernel_ticks;
    sum.wait_ticks += now.wait_ticks - before.wait_ticks;
    sum.dtrace_ns += now.dtrace_ns - before.dtrace_ns;
    sum.characters_in += now.characters_in - before.characters_in;
    sum.characters_out += now.characters_out - before.characters_out;
}

// A counter that was reset has a negative growth.
double number(uint64_t growth) {
    return static_cast<double>(static_cast<int64_t>(growth));
}

double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

// The time for the rates of terminals is counted in ticks. Without ticks, it is the interval.
double terminal_seconds(double ticks, size_t processors, const Options& options) {
    if (options.counts) return 1;
    const double ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
    const double counted = ticks / static_cast<double>(processors) / ticks_per_s;
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
    for (const Processor& processor : processors) add(sum, {}, processor);
    return sum;
}

ProcessorFigures processor_figures(const Processors* before, const Processors& now,
                                   const Options& options) {
    if (now.empty()) return {};
    Processor growth;
    double elapsed_ns = 0;
    for (const Processor& processor : now) {
        const Processor* old = before != nullptr ? find(*before, processor.id) : nullptr;
        const Processor start = old != nullptr ? *old : Processor{};
        add(growth, start, processor);
        elapsed_ns += static_cast<double>(processor.snaptime - start.snaptime);
    }
    const double ticks =
        number(growth.idle_ticks + growth.user_ticks + growth.kernel_ticks + growth.wait_ticks);
    const double seconds = terminal_seconds(ticks, now.size(), options);
    return {.user = percent(number(growth.user_ticks), ticks),
            .system = percent(number(growth.kernel_ticks), ticks),
            .dtrace = percent(number(growth.dtrace_ns), elapsed_ns),
            .idle = percent(number(growth.idle_ticks), ticks),
            .characters_in = number(growth.characters_in) / seconds,
            .characters_out = number(growth.characters_out) / seconds};
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
