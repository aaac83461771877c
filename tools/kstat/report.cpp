#include "tools/kstat/report.hpp"

#include "tools/kstat/format.hpp"
#include "tools/kstat/json.hpp"
#include "tools/kstat/select.hpp"

namespace blkscope::kstat_command {

namespace {

Chosen choose(const Selector& selector, const Reading& kstat) {
    Chosen chosen;
    for (const Statistic& statistic : kstat.statistics) {
        if (selector.statistic.matches(statistic.name)) chosen.push_back(&statistic);
    }
    return chosen;
}

std::string json_time(std::time_t now, Stamp stamp) {
    std::string line = program::stamp_line(now, stamp);
    if (line.empty()) return {};
    line.pop_back();  // the newline
    return stamp == Stamp::date ? json_string(line) : line;
}

}  // namespace

void Reporter::append(std::string& out, const Selector& selector, const Reading& kstat) {
    if (!selects(selector, kstat)) return;
    const Chosen chosen = choose(selector, kstat);
    if (chosen.empty()) return;
    matched_ = true;
    if (options_.quiet) return;
    switch (options_.format) {
        case Format::blocks:
            return append_block(out, kstat, chosen);
        case Format::tabs:
        case Format::colons:
        case Format::names:
            return append_lines(out, options_.format, kstat, chosen);
        case Format::json:
            if (separate_) out += ", ";
            separate_ = true;
            return append_object(out, kstat, chosen, time_);
    }
}

std::string Reporter::report(const std::vector<Reading>& kstats, std::time_t now) {
    std::string out;
    const bool json = options_.format == Format::json;
    if (json) {
        time_ = json_time(now, options_.stamp);
        out += '[';
    } else if (!options_.quiet) {
        out += program::stamp_line(now, options_.stamp);
    }
    separate_ = false;
    for (const Selector& selector : options_.selectors) {
        for (const Reading& kstat : kstats) append(out, selector, kstat);
    }
    if (json) out += "]\n";
    return out;
}

}  // namespace blkscope::kstat_command
