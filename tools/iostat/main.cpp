// iostat: wires the options, the reader, the reporter and the clock together.

#include <sys/kstat.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/cadence/cadence.hpp"
#include "tools/iostat/format.hpp"
#include "tools/iostat/freebsd/options.hpp"
#include "tools/iostat/freebsd/run.hpp"
#include "tools/iostat/histogram_reader.hpp"
#include "tools/iostat/json.hpp"
#include "tools/iostat/options.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/iostat/report.hpp"
#include "tools/iostat/signals.hpp"
#include "tools/iostat/summary.hpp"
#include "tools/iostat/usage.hpp"

namespace blkscope::iostat {

namespace {

constexpr int failed = 2;
constexpr hrtime_t ns_per_s = 1'000'000'000;

// A reader of our output that has had enough; no failure of ours.
struct OutputClosed {};

// Writes all of it at once, so that whoever reads a pipe gets whole reports.
void print(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<size_t>(written));
        } else if (errno == EPIPE) {
            throw OutputClosed{};
        } else if (errno != EINTR) {
            throw std::system_error(errno, std::generic_category(), "cannot write");
        }
    }
}

void complain(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);  // nowhere to tell of a failure
}

// One run, from the first report to the last.
class Run {
  public:
    explicit Run(const Options& options)
        : options_(options),
          cadence_(gethrtime(), options.interval_s.value_or(0) * ns_per_s, !options.count),
          reader_(options),
          reporter_(options) {}

    void report_until_the_end();
    void print_summary() const;

  private:
    void look();
    void tell_what_is_missing(const Snapshot& shown, bool processors);
    void require_all(const Snapshot& shown) const;
    bool wait_for_the_next();

    Options options_;
    Cadence cadence_;
    Reader reader_;
    HistogramReader histograms_;
    Reporter reporter_;
    Summary summary_;
    bool was_continued_ = false;
    bool missed_devices_ = false;
    bool missed_processors_ = false;
};

void Run::report_until_the_end() {
    const int first = options_.first_skipped ? 0 : 1;
    const int last = options_.interval_s ? options_.count.value_or(0) : 1;  // 0: no end
    for (int number = first; ending_signal() == 0; ++number) {
        look();
        if (number != 0 && number == last) return;
        if (!wait_for_the_next()) return;
    }
}

void Run::look() {
    std::vector<Device> devices = reader_.read();
    if (options_.histograms_wanted()) histograms_.read_into(devices);
    const Processors processors = reader_.read_processors();
    const Snapshot shown = select(devices, options_);
    if (options_.must_exist) require_all(shown);
    tell_what_is_missing(shown, processors.empty());
    const std::time_t now = std::time(nullptr);
    const std::string report = reporter_.report(shown, processors, now);
    if (options_.summary) summary_.add(shown);
    if (report.empty() && options_.first_skipped) return;
    print((options_.json ? "" : stamp_line(now, options_.stamp)) + report);
}

std::string no_devices() {
    return "no devices in " + run_directory() + "; start a server with 'blkscope serve'";
}

std::string no_such_device(const std::vector<std::string>& names) {
    std::string text = "no device named ";
    const char* before = "";
    for (const std::string& name : names) text += std::exchange(before, " or ") + name;
    return text + " in " + run_directory() + "; 'blkscope list' shows those that are served";
}

// Also of a device that was there before: its server has ended, and the run measures nothing.
void Run::require_all(const Snapshot& shown) const {
    if (!options_.devices_wanted()) return;
    const auto missing = missing_names(shown, options_);
    if (!missing.empty()) throw std::runtime_error(no_such_device(missing));
    if (shown.empty()) throw std::runtime_error(no_devices());
}

// Once each. What is missing shows as nothing, or as zeros.
void Run::tell_what_is_missing(const Snapshot& shown, bool processors) {
    const bool there_are_some = options_.devices.empty() && reader_.any_device();
    if (shown.empty() && !missed_devices_ && options_.devices_wanted() && !there_are_some) {
        missed_devices_ = true;
        complain("iostat: " +
                 (options_.devices.empty() ? no_devices() : no_such_device(options_.devices)) +
                 "\n");
    }
    const bool has_columns = (options_.tty || options_.cpu) && !options_.json;
    if (processors && !missed_processors_ && has_columns) {
        missed_processors_ = true;
        complain("iostat: no processors in " + run_directory() + "; tty and cpu are shown as 0\n");
    }
}

// Prints the header anew when the process is continued in the middle of it. False: it is to end.
bool Run::wait_for_the_next() {
    was_continued_ |= take_continuation();
    const hrtime_t wake = cadence_.next_wake(gethrtime(), was_continued_);
    while (!sleep_until(wake)) {
        if (ending_signal() != 0) return false;
        was_continued_ |= take_continuation();
        print(reporter_.header_again());
    }
    return true;
}

void Run::print_summary() const {
    if (options_.json) return print(json_summary(summary_, std::time(nullptr)));
    // The terminal has shown the ^C at the start of a line.
    if (ending_signal() == SIGINT && isatty(STDOUT_FILENO) != 0) print("\n");
    print(summary_text(summary_, options_));
}

void run(const Options& options) {
    Run whole(options);
    whole.report_until_the_end();
    if (options.summary) {
        whole.print_summary();  // an end that was asked for, whatever asked for it
    } else if (ending_signal() != 0) {
        die_of(ending_signal());
    }
}

int main_program(std::vector<std::string> arguments) {
    const auto parsed = parse_options(std::move(arguments));
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        complain(refusal->text);
        return refusal->status;
    }
    try {
        watch_signals();
        if (std::holds_alternative<Help>(parsed)) {
            print(help_text());
        } else {
            run(std::get<Options>(parsed));
        }
    } catch (const OutputClosed&) {
        return 0;
    } catch (const std::runtime_error& error) {
        complain(std::string("iostat: ") + error.what() + "\n");
        return failed;
    }
    return 0;
}

}  // namespace

}  // namespace blkscope::iostat

int main(int argc, char** argv) {
    // The date is in the user's language; numbers are not.
    std::setlocale(LC_TIME, "");  // NOLINT(concurrency-mt-unsafe): before any thread could exist
    std::vector<std::string> arguments{argv, argv + argc};
    if (blkscope::iostat::freebsd::take_style(arguments)) {
        return blkscope::iostat::freebsd::main_program(std::move(arguments));
    }
    return blkscope::iostat::main_program(std::move(arguments));
}
