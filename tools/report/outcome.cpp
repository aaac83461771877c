#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/iostat/interval.hpp"
#include "tools/iostat/lateness.hpp"
#include "tools/program/json.hpp"
#include "tools/report/document.hpp"

namespace blkscope::report {
namespace {

using check::Finding;
using check::Verdict;

// The line of check, and by how much the condition fails.
std::string failure_text(const Finding& finding) {
    return finding.line + (finding.beyond.empty() ? "" : ", " + finding.beyond);
}

std::string command_text(int status) {
    if (status == 0) return "";
    if (status > 128) return fmt::format("the run was ended by signal {}", status - 128);
    return fmt::format("the command ended with status {}", status);
}

std::string conditions_text(size_t failed, const Run& run) {
    const size_t all = run.findings.size();
    if (all == 0) return "";
    if (failed == 0 && !run.gaps.empty()) return "not everything could be read";
    if (failed == 0) return fmt::format("{} of {} conditions hold", all, all);
    const auto first = std::ranges::find_if(
        run.findings, [](const Finding& one) { return one.verdict != Verdict::holds; });
    return fmt::format("{} of {} condition{} {} not hold: {}", failed, all, all == 1 ? "" : "s",
                       failed == 1 ? "does" : "do", failure_text(*first));
}

}  // namespace

Outcome outcome_of(const Run& run) {
    const auto fails = [](const Finding& one) { return one.verdict != Verdict::holds; };
    const auto failed = static_cast<size_t>(std::ranges::count_if(run.findings, fails));
    const bool has_gaps = !run.findings.empty() && !run.gaps.empty();
    Outcome outcome{.is_failed = run.status != 0 || failed > 0 || has_gaps, .headline = ""};
    const std::string command = command_text(run.status);
    const std::string conditions = conditions_text(failed, run);
    outcome.headline = outcome.is_failed    ? "FAILED: "
                       : conditions.empty() ? "ended well"
                                            : "PASSED: ";
    outcome.headline += command;
    if (!command.empty() && !conditions.empty()) outcome.headline += "; ";
    outcome.headline += conditions;
    if (has_gaps) outcome.lines = run.gaps;
    for (const Finding& one : run.findings) {
        if (fails(one)) outcome.lines.push_back(failure_text(one));
    }
    for (const Finding& one : run.findings) {
        if (!fails(one)) outcome.lines.push_back(one.line);
    }
    return outcome;
}

std::vector<std::string> late_servers(const Recording& recording,
                                      const std::vector<Finding>& findings) {
    std::set<std::string> lines;
    for (const Finding& one : findings) {
        if (!one.late.empty()) lines.insert(one.late);
    }
    const iostat::Snapshot before = web::devices_of(recording.first.devices, web::is_served);
    const iostat::Snapshot now = web::devices_of(recording.devices_at_end(), web::is_served);
    const iostat::Processors none;
    const iostat::Interval run{&before, now, nullptr, none};
    for (const iostat::Device& device : now) {
        const auto sentence = iostat::late_server_text(run.histograms_of(device));
        if (sentence) lines.insert(program::shown(device.name) + ": " + *sentence);
    }
    return {lines.begin(), lines.end()};
}

}  // namespace blkscope::report
