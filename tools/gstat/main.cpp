// gstat: connects the options, the snapshots and the screen or standard output.

#include "tools/program/main.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "tools/gstat/options.hpp"
#include "tools/gstat/report.hpp"
#include "tools/gstat/screen.hpp"
#include "tools/program/left_out.hpp"
#include "tools/program/no_providers.hpp"
#include "tools/program/signals.hpp"

namespace blkscope::gstat {
namespace {

using program::print;
using std::chrono::milliseconds;

// Prints one report after the other on standard output.
class Batch {
  public:
    explicit Batch(const Options& options) : options_(options), filter_(options.filter) {}

    void run();

  private:
    [[nodiscard]] std::string report(const Snapshot& before, const Snapshot& now) const;

    const Options& options_;
    Filter filter_;
    SnapshotReader reader_;
};

std::string Batch::report(const Snapshot& before, const Snapshot& now) const {
    if (options_.csv) return csv_lines(options_, filter_, before, now);
    std::string text = first_line(options_, seconds_between(before, now)) + "\n";
    text += header(options_) + "\n";
    for (const Line& line : lines(options_, filter_, before, now)) text += line.text() + "\n";
    return text;
}

void Batch::run() {
    if (options_.csv) print(csv_header(options_));
    Snapshot before = reader_.take();
    program::complain_of_no_providers("gstat", true);
    // As FreeBSD's: reports without end begin at once, with one over no time, whose rates are 0.
    if (!options_.once) print(report(before, before));
    const hrtime_t interval_ns = std::chrono::nanoseconds(options_.interval).count();
    while (program::sleep_through(gethrtime() + interval_ns)) {
        Snapshot now = reader_.take();
        print(report(before, now));
        if (options_.once) return;
        before = std::move(now);
    }
}

// Shows the screen until the user ends it.
class Live {
  public:
    explicit Live(const Options& options) : options_(options) {
        program::keep_quiet_about_providers();
    }

    void run();

  private:
    void draw();
    void ask_for_filter();
    bool obey(Wish wish);
    bool wait();

    Options options_;
    SnapshotReader reader_;
    Screen screen_;
    Snapshot before_;
    Snapshot now_;
};

void Live::draw() {
    const Filter filter(options_.filter);
    screen_.show(first_line(options_, seconds_between(before_, now_)), header(options_),
                 lines(options_, filter, before_, now_));
}

// Asks again after a text that is no expression. An empty text clears the filter.
void Live::ask_for_filter() {
    std::string prompt = "Filter: ";
    for (;;) {
        const std::string text = screen_.ask(prompt);
        const auto problem = Filter(text).problem();
        if (!problem) {
            options_.filter = text;
            return;
        }
        prompt = "Filter (" + *problem + "): ";
    }
}

// False if the user ends the program.
bool Live::obey(Wish wish) {
    constexpr std::chrono::microseconds shortest = milliseconds(1);
    constexpr std::chrono::microseconds longest = std::chrono::hours(1);
    switch (wish) {
        case Wish::quit:
            return false;
        case Wish::longer:
            options_.interval = std::min(options_.interval * 2, longest);
            break;
        case Wish::shorter:
            options_.interval = std::max(options_.interval / 2, shortest);
            break;
        case Wish::consumers:
            options_.consumers = !options_.consumers;
            break;
        case Wish::set_filter:
            ask_for_filter();
            break;
        case Wish::clear_filter:
            options_.filter.clear();
            break;
        case Wish::none:
        case Wish::redraw:
            break;
    }
    draw();
    return true;
}

// Waits for the interval's end, and obeys the user meanwhile. False if the program is to end.
bool Live::wait() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point began = Clock::now();
    for (;;) {
        const auto left = began + options_.interval - Clock::now();
        if (left <= Clock::duration::zero()) return true;
        const Wish wish = screen_.wait(std::chrono::ceil<milliseconds>(left));
        if (program::ending_signal() != 0) return false;
        if (wish != Wish::none && !obey(wish)) return false;
    }
}

void Live::run() {
    now_ = reader_.take();
    while (wait()) {
        before_ = std::move(now_);
        now_ = reader_.take();
        draw();
    }
}

int run(const Options& options) {
    if (options.batch) {
        Batch(options).run();
    } else {
        Live(options).run();
    }
    return 0;
}

int main_program(std::vector<std::string> arguments) {
    constexpr int failed = 1;
    // The program ends in order, and restores the terminal, also while the user types a filter.
    program::watch_signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT}, program::Interrupts::input);
    const bool to_terminal = isatty(STDOUT_FILENO) != 0;
    return program::obey(
        {"gstat", failed, [] { print(help_text()); }},
        [&] { return parse_options(std::move(arguments), to_terminal); }, run);
}

}  // namespace
}  // namespace blkscope::gstat

int main(int argc, char** argv) {
    return blkscope::gstat::main_program({argv, argv + argc});
}
