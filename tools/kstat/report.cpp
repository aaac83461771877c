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
            return objects_.push_back(json_object(kstat, chosen, time_));
    }
}

std::string Reporter::report(const std::vector<Reading>& kstats, std::time_t now) {
    const bool json = options_.format == Format::json;
    time_ = program::stamp_value(now, options_.stamp);
    objects_ = program::Json::array();
    std::string out;
    if (!json) out = program::stamp_line(now, options_.stamp);
    for (const Selector& selector : options_.selectors) {
        for (const Reading& kstat : kstats) append(out, selector, kstat);
    }
    return json ? objects_.block() + "\n" : out;
}

}  // namespace blkscope::kstat_command
