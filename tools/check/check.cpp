#include "tools/check/check.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "tools/check/condition.hpp"
#include "tools/check/duration.hpp"
#include "tools/check/earlier_report.hpp"
#include "tools/check/judge.hpp"
#include "tools/iostat/histogram_reader.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/program/json.hpp"
#include "tools/program/kstats.hpp"
#include "tools/program/left_out.hpp"
#include "tools/program/main.hpp"
#include "tools/program/no_providers.hpp"
#include "tools/program/print.hpp"
#include "tools/program/replace_file.hpp"

namespace blkscope::check {
namespace {

constexpr int all_hold = 0;
constexpr int one_fails = 1;
constexpr int nothing_to_measure = 4;

class LookReader {
  public:
    Look look() {
        Look look{.time = gethrtime(), .devices = {}};
        std::vector<iostat::Device> devices = devices_.read();
        is_partial_ = is_partial_ || devices_.is_partial();
        histograms_.read_into(devices);
        for (iostat::Device& device : devices) {
            look.devices.push_back({.device = std::move(device)});
            read_commands(look.devices.back());
            iostat::use_unique_name(look.devices.back().device);
        }
        unread_.merge(program::take_left_out());
        unread_.insert(devices_.unread().begin(), devices_.unread().end());
        return look;
    }

    /// Whether a look lacked providers, because there was no descriptor for them.
    [[nodiscard]] bool is_partial() const { return is_partial_; }

    /// The sockets of providers, and the devices, that a look lacked because they could not be read.
    [[nodiscard]] const std::set<std::string>& unread() const { return unread_; }

  private:
    void read_commands(DeviceLook& look) {
        constexpr std::array names{"read_errors",        "write_errors", "flush_errors",
                                   "trim_errors",        "cache_errors", "block_status_errors",
                                   "write_zeroes_errors"};
        kstat_t* const ksp = iostat::read_beside(devices_.chain(), look.device, "cmds");
        if (ksp == nullptr) {
            if (errno != ENOENT && errno != ENXIO) unread_.insert(look.device.name + ",cmds");
            return;
        }
        for (const char* name : names) {
            if (const auto count = program::number_record(ksp, name)) look.commands[name] = *count;
        }
    }

    iostat::Reader devices_{iostat::all_of_devices()};
    iostat::HistogramReader histograms_;
    bool is_partial_ = false;
    std::set<std::string> unread_;
};

std::vector<Condition> conditions_of(const Options& options) {
    std::vector<Condition> conditions;
    for (const std::string& text : options.conditions) conditions.push_back(parse_condition(text));
    return conditions;
}

void require_usage(const Options& options) {
    const auto refuse = [](const std::string& why) {
        throw std::invalid_argument("check: usage: " + why + "; see 'blkscope check --help'");
    };
    if (!options.save.empty() && !options.conditions.empty()) refuse("--save takes no condition");
    if (!options.save.empty()) return;
    if (options.conditions.empty()) refuse("a condition is required");
    if (options.since.empty() && options.duration.empty()) {
        refuse("--for TIME or --since REPORT is required");
    }
    if (!options.duration.empty() && !duration_of(options.duration)) {
        refuse("--for " + options.duration + ": a time is as 500ms, 10s or 2m, up to a day");
    }
}

void complain_of(const std::exception& failure) {
    program::complain(std::string("blkscope: check: ") + failure.what() + "\n");
}

int save(const std::string& path) {
    LookReader reader;
    const Look look = reader.look();
    try {
        program::replace_file(path, report_text(look));
    } catch (const std::system_error& failure) {
        throw std::runtime_error(std::string("cannot write ") + failure.what());
    }
    if (reader.is_partial()) program::complain(program::shortage_text("blkscope: check"));
    program::complain_of_no_providers("blkscope: check", look.devices.empty());
    for (const std::string& what : reader.unread()) {
        program::complain("blkscope: check: " + program::shown(what) +
                          " could not be read, so it is not in the report\n");
    }
    return reader.is_partial() || !reader.unread().empty() ? nothing_to_measure : all_hold;
}

// All that a measurement has found.
struct Findings {
    std::vector<Finding> all;
    std::set<std::string> late;  // a line for each server that was late itself
    std::set<std::string> unread;
    bool is_partial = false;

    [[nodiscard]] bool has(Verdict verdict) const {
        return std::ranges::any_of(all, [&](const Finding& one) { return one.verdict == verdict; });
    }
    [[nodiscard]] int status() const {
        if (has(Verdict::fails)) return one_fails;
        const bool has_gaps = is_partial || !unread.empty();
        return has_gaps || has(Verdict::unmeasured) ? nothing_to_measure : all_hold;
    }
};

std::string text_of(const Findings& findings) {
    std::string text;
    for (const Finding& one : findings.all) text += one.line + "\n";
    for (const std::string& line : findings.late) text += line + "\n";
    for (const std::string& what : findings.unread) text += unread_text(what) + "\n";
    return text;
}

std::string json_text(const Findings& findings) {
    using program::Json;
    Json conditions = Json::array();
    for (const Finding& one : findings.all) conditions.push_back(json_of(one));
    const Json json{{"schema", "blkscope.check/1"},
                    {"status", findings.status()},
                    {"conditions", std::move(conditions)},
                    {"late", std::vector(findings.late.begin(), findings.late.end())},
                    {"unread", std::vector(findings.unread.begin(), findings.unread.end())}};
    return json.line() + "\n";
}

int measure(const Options& options, const std::vector<Condition>& conditions) {
    LookReader reader;
    const Look before = options.since.empty() ? reader.look() : read_report(options.since);
    require_known_words(conditions, before);
    if (options.since.empty()) std::this_thread::sleep_for(duration_of(options.duration).value());
    const Look now = reader.look();
    Findings findings{
        .all = {}, .late = {}, .unread = reader.unread(), .is_partial = reader.is_partial()};
    for (const Condition& condition : conditions) {
        for (Finding& finding : judge(condition, before, now)) {
            if (!finding.late.empty()) findings.late.insert(finding.late);
            findings.all.push_back(std::move(finding));
        }
    }
    if (reader.is_partial()) program::complain(program::shortage_text("blkscope: check"));
    program::complain_of_no_providers("blkscope: check", findings.has(Verdict::unmeasured));
    try {
        program::print(options.json ? json_text(findings) : text_of(findings));
    } catch (const std::system_error& failure) {  // a condition that fails must still fail
        complain_of(failure);
        return findings.has(Verdict::fails) ? one_fails : nothing_to_measure;
    }
    return findings.status();
}

}  // namespace

int run(const Options& options) {
    require_usage(options);
    const std::vector<Condition> conditions = conditions_of(options);
    try {
        return options.save.empty() ? measure(options, conditions) : save(options.save);
    } catch (const std::runtime_error& failure) {
        complain_of(failure);
        return nothing_to_measure;
    }
}

}  // namespace blkscope::check
