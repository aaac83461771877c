#include "tools/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "tools/check/condition.hpp"
#include "tools/check/duration.hpp"
#include "tools/check/judge.hpp"
#include "tools/check/options.hpp"
#include "tools/program/left_out.hpp"
#include "tools/program/no_providers.hpp"
#include "tools/program/print.hpp"
#include "tools/program/read_file.hpp"
#include "tools/program/replace_file.hpp"
#include "tools/program/signals.hpp"
#include "tools/report/child.hpp"
#include "tools/report/comparison.hpp"
#include "tools/report/document.hpp"
#include "tools/web/reader.hpp"

namespace blkscope::report {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int condition_failed = 125;
// A report has a few MiB. Its tree takes many times its size in memory.
constexpr size_t report_bytes_max = size_t{64} << 20;
constexpr milliseconds every_min{10};

[[noreturn]] void refuse(const std::string& why) {
    throw std::invalid_argument("report: usage: " + why + "; see 'blkscope report --help'");
}

milliseconds time_of(const char* option, const std::string& text) {
    const auto time = check::duration_of(text);
    if (!time) {
        refuse(std::string(option) + " " + text + ": a time is as 500ms, 10s or 2m, up to a day");
    }
    return *time;
}

// The looks of a run. A look that fails is left out, because the providers may come later.
class Observer {
  public:
    explicit Observer(milliseconds every) : recording_(every) {}

    void look(bool all_histograms) {
        try {
            recording_.add(reader_.look(all_histograms));
        } catch (const std::runtime_error& failure) {
            why_ = failure.what();
            if (all_histograms) gaps_.insert("nothing to measure: " + why_);
        }
        const std::set<std::string> left_out = program::take_left_out();
        if (!all_histograms) return;
        for (const std::string& socket : left_out) gaps_.insert(check::unread_text(socket));
        for (const std::string& name : reader_.unread()) gaps_.insert(check::unread_text(name));
        if (reader_.is_partial()) {
            gaps_.insert("nothing to measure: descriptors are too few for all programs");
        }
    }

    [[nodiscard]] const Recording& recording() const { return recording_; }

    /// A line for each thing that the first look or the last one lacks.
    [[nodiscard]] const std::set<std::string>& gaps() const { return gaps_; }

    /// The reason of the last look that failed; empty if none has.
    [[nodiscard]] const std::string& why() const { return why_; }

  private:
    web::Reader reader_;
    Recording recording_;
    std::set<std::string> gaps_;
    std::string why_;
};

// SIGINT from the terminal went to the command, too. A command that stays gets SIGTERM for a second
// signal, and SIGKILL for a third one.
void end_command(Child& child, int& told) {
    const int signal = program::ending_signal();
    const int least = signal == SIGTERM || signal == SIGHUP ? 2 : 0;
    const int asked = std::clamp(program::ending_signals(), least, 3);
    if (asked >= 2 && asked > told) child.signal(asked == 2 ? SIGTERM : SIGKILL);
    told = std::max(told, asked);
}

// A person ends a run with SIGINT, and the run until then is a whole one.
int status_of_end() {
    const int signal = program::ending_signal();
    return signal == SIGTERM || signal == SIGHUP ? 128 + signal : 0;
}

// Looks until the command ends, or for the time. Adds the command's status and its seconds. The last look may
// have to wait for providers, which is not part of the run.
void observe(Observer& observer, const Options& options, Run& run) {
    std::optional<Child> child;
    if (!options.command.empty()) child.emplace(options.command);
    run.began = std::time(nullptr);
    const Clock::time_point began = Clock::now();
    const auto end = options.duration.empty() ? Clock::time_point::max()
                                              : began + time_of("--for", options.duration);
    Clock::time_point next = began;
    std::optional<int> status;
    int told = 0;
    while (!status) {
        if (child) end_command(*child, told);
        next = std::max(next + observer.recording().every, Clock::now());
        const auto wake = std::min(next, end);
        if (child) {
            status = child->wait(std::chrono::ceil<milliseconds>(wake - Clock::now()));
        } else {
            const auto left = std::chrono::nanoseconds(wake - Clock::now()).count();
            const bool was_ended = !program::sleep_through(gethrtime() + left);
            if (was_ended) status = status_of_end();
            if (Clock::now() >= end) status = status.value_or(0);
        }
        if (!status) observer.look(false);
    }
    run.status = *status;
    run.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    observer.look(true);
}

check::Look look_of(const web::Look& look) {
    check::Look copy{.time = look.time, .devices = {}};
    for (const web::DeviceLook& one : look.devices) {
        check::DeviceLook device{.device = one.device};
        for (const auto& [name, count] : one.commands) {
            if (name.ends_with("_errors")) device.commands[name] = count;
        }
        copy.devices.push_back(std::move(device));
    }
    return copy;
}

// Adds a finding for each condition and device. A
// device that came and left within the run is measured. A device that left and was there before, or
// was made anew, is not.
void judge_run(const std::vector<check::Condition>& conditions, const Observer& observer,
               Run& run) {
    const Recording& recording = observer.recording();
    const auto was_there = [&](const std::string& name) {
        return std::ranges::any_of(recording.first.devices,
                                   [&](const auto& first) { return first.device.name == name; });
    };
    web::Look first = recording.first;
    for (const auto& [name, one] : recording.ended) {
        if (!was_there(name)) first.devices.push_back(one);
    }
    web::Look last = recording.last;
    for (const auto& [name, one] : recording.left) {
        if (!was_there(name)) last.devices.push_back(one);
    }
    const check::Look before = look_of(first);
    const check::Look now = look_of(last);
    run.gaps.assign(observer.gaps().begin(), observer.gaps().end());
    for (const check::Condition& condition : conditions) {
        for (check::Finding& finding : check::judge(condition, before, now)) {
            run.findings.push_back(std::move(finding));
        }
    }
    run.late = late_servers(recording, run.findings);
}

bool any_served(const Recording& recording) {
    const auto is_served = [](const web::DeviceLook& one) { return web::is_served(one); };
    return std::ranges::any_of(recording.devices_at_end(), is_served) ||
           std::ranges::any_of(recording.first.devices, is_served);
}

// Without conditions the command has said what there is to say.
void print_outcome(const Run& run, const Outcome& outcome) {
    std::string text;
    if (!run.findings.empty()) text += outcome.headline + "\n";
    for (const std::string& line : outcome.lines) text += line + "\n";
    for (const std::string& line : run.late) text += line + "\n";
    program::print(text, "report: cannot write");
}

template <class Action>
void telling(Action action) try {
    action();
} catch (const std::system_error& failure) {
    throw std::runtime_error(std::string("report: write ") + failure.what());
}

// A file that cannot be written is known before hours of a run.
void check_output(const Options& options) {
    std::vector<std::string> read = options.compared;
    if (!read.empty()) read.insert(read.end(), options.command.begin(), options.command.end());
    for (const std::string& path : read) {
        std::error_code none;
        if (std::filesystem::equivalent(path, options.output, none)) {
            refuse("-o " + options.output + " is one of the reports");
        }
    }
    telling([&] { program::require_replaceable(options.output); });
}

void write_file(const std::string& path, const std::string& text) {
    telling([&] { program::replace_file(path, text); });
}

std::vector<SavedReport> read_reports(const std::vector<std::string>& paths) {
    std::vector<SavedReport> reports;
    for (const std::string& path : paths) {
        try {
            reports.push_back({path, program::read_file(path, report_bytes_max)});
        } catch (const std::system_error& failure) {
            throw std::system_error(failure.code(), "report: read " + path);
        } catch (const std::invalid_argument& failure) {
            throw std::invalid_argument("report: " + std::string(failure.what()));
        }
    }
    return reports;
}

// The words behind "--" are the reports of the other side.
void take_sides(const Options& options, std::vector<std::string>& before,
                std::vector<std::string>& after) {
    before = options.compared;
    after = options.command;
    if (!after.empty()) return;
    if (before.size() != 2) {
        refuse("--compare takes BEFORE and AFTER, or several runs as BEFORE... -- AFTER...");
    }
    after = {before.back()};
    before.pop_back();
}

int compare_files(const Options& options) {
    const auto share = slower_share(options.slower);
    if (!share && !options.slower.empty()) {
        refuse("--fail-if-slower " + options.slower + ": a share is as 10%");
    }
    std::vector<std::string> before;
    std::vector<std::string> after;
    take_sides(options, before, after);
    const Comparison comparison = compare(read_reports(before), read_reports(after));
    check_output(options);
    std::optional<Gate> verdict;
    if (share) verdict = gate(comparison.rows, *share);
    const std::string data = comparison_data(comparison, verdict);
    const bool is_data = options.output.ends_with(".json");
    write_file(options.output, is_data ? data : comparison_document(data));
    std::string text = verdict ? verdict->headline + "\n" : "";
    if (before.size() + after.size() > 2) {
        text += fmt::format("the means of {} and {} runs, with noise from run to run\n",
                            before.size(), after.size());
    }
    text += comparison_text(comparison.rows);
    for (const std::string& line : comparison.late) text += line + "\n";
    program::print(text, "report: cannot write");
    return verdict && verdict->is_failed ? condition_failed : 0;
}

}  // namespace

int run(const Options& options) {
    if (!options.compared.empty()) return compare_files(options);
    if (options.command.empty() == options.duration.empty()) {
        refuse("a command behind -- or --for TIME is required");
    }
    const milliseconds every = time_of("--every", options.every);
    if (every < every_min) refuse("--every is 10ms or longer");
    if (!options.duration.empty()) static_cast<void>(time_of("--for", options.duration));
    std::vector<check::Condition> conditions;
    for (const std::string& text : options.conditions) {
        conditions.push_back(check::parse_condition(text));
    }
    check_output(options);
    program::watch_signals({SIGINT, SIGTERM, SIGHUP}, program::Interrupts::counted);
    Observer observer(every);
    observer.look(true);
    check::require_known_words(conditions, look_of(observer.recording().first));
    Run run{.command = options.command};
    observe(observer, options, run);
    if (observer.recording().looks.size() < 2) {
        throw std::runtime_error("report: no look at the devices: " + observer.why());
    }
    judge_run(conditions, observer, run);
    if (!any_served(observer.recording())) {
        program::complain("blkscope: report: " + program::no_devices_text() + "\n");
    }
    const Outcome outcome = outcome_of(run);
    const std::string data = json_document(run, observer.recording());
    std::exception_ptr unwritten;  // the lines are told all the same
    try {
        write_file(options.output, options.output.ends_with(".json") ? data : html_document(data));
    } catch (const std::runtime_error&) {
        unwritten = std::current_exception();
    }
    print_outcome(run, outcome);
    if (unwritten) std::rethrow_exception(unwritten);
    return run.status == 0 && outcome.is_failed ? condition_failed : run.status;
}

}  // namespace blkscope::report
