#include "tools/iostat/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tools/iostat/format.hpp"
#include "tools/iostat/histogram_reader.hpp"
#include "tools/iostat/json.hpp"
#include "tools/iostat/options.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/iostat/report.hpp"
#include "tools/iostat/summary.hpp"
#include "tools/program/main.hpp"
#include "tools/program/no_providers.hpp"
#include "tools/program/pace.hpp"
#include "tools/program/signals.hpp"
#include "tools/program/stamp.hpp"

namespace blkscope::iostat {
namespace {

using program::complain;
using program::ending_signal;
using program::print;

constexpr int failed = 2;

// A run, from the first report to the last.
class Run {
  public:
    explicit Run(const Options& options)
        : options_(options),
          pace_(program::Pace::of(options.interval_s, looks_of(options))),
          reader_(options),
          reporter_(options) {}

    void report_until_the_end();
    void print_summary() const;

    /// Whether a report lacked providers, because there was no descriptor for them.
    [[nodiscard]] bool was_partial() const { return was_partial_; }

  private:
    // With -y the first look makes no report.
    static std::optional<int> looks_of(const Options& options) {
        if (!options.count) return {};
        return *options.count + (options.first_skipped ? 1 : 0);
    }

    void look();
    void find_missing(const std::vector<Device>& devices, const Snapshot& shown);
    void tell_what_is_missing(const Snapshot& shown, bool processors);
    void tell_of_devices(const Snapshot& shown);
    void require_all(const Snapshot& shown) const;

    Options options_;
    program::Pace pace_;
    Reader reader_;
    HistogramReader histograms_;
    Reporter reporter_;
    Summary summary_;
    std::vector<std::string> missing_;  // the devices that were named and are not there
    std::vector<std::string> told_of_;  // the missing devices of which a line was printed
    bool missed_devices_ = false;
    bool missed_processors_ = false;
    bool was_partial_ = false;
};

// Prints the header anew if the process is continued in the middle of an interval.
void Run::report_until_the_end() {
    while (ending_signal() == 0) {
        look();
        if (!pace_.wait([this] { print(reporter_.header_again()); })) return;
    }
}

void Run::look() {
    if (options_.histograms_wanted()) histograms_.begin();
    std::vector<Device> devices = reader_.read();
    if (reader_.is_partial() && !was_partial_) {
        was_partial_ = true;
        complain(program::shortage_text("iostat"));
    }
    if (options_.histograms_wanted()) histograms_.read_into(devices);
    const Processors processors = reader_.read_processors();
    const Snapshot shown = select(devices, options_);
    find_missing(devices, shown);
    if (options_.must_exist) require_all(shown);
    tell_what_is_missing(shown, processors.empty());
    const std::time_t now = std::time(nullptr);
    const std::string report = reporter_.report(shown, processors, now);
    if (options_.summary) summary_.add(shown);
    if (report.empty() && options_.first_skipped) return;
    print((options_.json ? "" : program::stamp_line(now, options_.stamp)) + report);
}

// A device without a place in the report is not missing. A path has another name in the report.
void Run::find_missing(const std::vector<Device>& devices, const Snapshot& shown) {
    missing_ = missing_names(shown, options_);
    const std::vector<std::string> unread = missing_names(devices, options_);
    std::erase_if(missing_, [&](const std::string& name) {
        return std::ranges::find(unread, name) == unread.end();
    });
}

// Also refuses if a device was there before: its server has closed, and the run measures nothing.
void Run::require_all(const Snapshot& shown) const {
    if (!options_.devices_wanted()) return;
    if (!missing_.empty()) throw std::runtime_error(no_devices_text(missing_));
    if (shown.empty()) throw std::runtime_error(no_devices_text());
}

// Prints one line about each missing device, and one if there is no device at all. Who names
// a folder expects the statistics of a server there, beside those of the machine.
void Run::tell_of_devices(const Snapshot& shown) {
    std::vector<std::string> untold;
    for (const std::string& name : missing_) {
        if (std::ranges::find(told_of_, name) == told_of_.end()) untold.push_back(name);
    }
    told_of_.insert(told_of_.end(), untold.begin(), untold.end());
    const bool none_at_all =
        options_.devices.empty() && shown.empty() && !missed_devices_ && !reader_.any_device();
    if (none_at_all || !untold.empty()) {
        complain("iostat: " + no_devices_text(untold) + "\n");
    } else if (options_.devices.empty() && !missed_devices_ && !reader_.any_provider() &&
               program::has_own_run_directory()) {
        complain("iostat: " + no_devices_text() + ", or correct KSTAT_DIR\n");
        missed_devices_ = true;
    }
    missed_devices_ |= none_at_all;
}

// Prints each message once. Missing data are shown as empty, or as zeros.
void Run::tell_what_is_missing(const Snapshot& shown, bool processors) {
    if (options_.devices_wanted()) tell_of_devices(shown);
    const bool has_columns = (options_.tty || options_.cpu) && !options_.json;
    if (processors && !missed_processors_ && has_columns) {
        missed_processors_ = true;
        complain("iostat: no processors in " + run_directory() + "; tty and cpu are shown as 0\n");
    }
}

void Run::print_summary() const {
    if (options_.json) return print(json_summary(summary_, std::time(nullptr)));
    // The terminal has printed ^C at the start of the line.
    if (ending_signal() == SIGINT && isatty(STDOUT_FILENO) != 0) print("\n");
    print(summary_text(summary_, options_));
}

int run(const Options& options) {
    Run whole(options);
    whole.report_until_the_end();
    if (options.summary) {
        whole.print_summary();  // also if a signal ended the run
    } else if (ending_signal() != 0) {
        program::suffer(ending_signal());
    }
    return whole.was_partial() ? failed : 0;
}

}  // namespace

int main_program(std::vector<std::string> arguments) {
    return program::obey(
        {"iostat", failed, [] { print(help_text()); }},
        [&] { return parse_options(std::move(arguments)); }, run);
}

}  // namespace blkscope::iostat
