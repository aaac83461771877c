// gstat: wires the options, the snapshots and the screen or standard output together.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/gstat/options.hpp"
#include "tools/gstat/report.hpp"
#include "tools/gstat/screen.hpp"
#include "tools/gstat/snapshot_reader.hpp"

namespace blkscope::gstat {
namespace {

using std::chrono::milliseconds;

constexpr int wrong_usage = 64;  // EX_USAGE

volatile std::sig_atomic_t ending = 0;

void note_end(int signal) {
    ending = signal;
}

// An ending signal cuts the sleep short; the terminal is then given back in order.
void watch_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        action.sa_handler = note_end;
        sigaction(signal, &action, nullptr);
    }
    std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): write(2) tells
}

// False: nobody reads it any more.
bool print(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<size_t>(written));
        } else if (errno == EPIPE) {
            return false;
        } else if (errno != EINTR) {
            throw std::system_error(errno, std::generic_category(), "cannot write");
        }
    }
    return true;
}

// One report after the other on standard output.
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
    if (options_.csv && !print(csv_header(options_))) return;
    Snapshot before = reader_.take();
    const timespec pause{options_.interval.count() / 1'000'000,
                         options_.interval.count() % 1'000'000 * 1000};
    while (ending == 0) {
        if (ppoll(nullptr, 0, &pause, nullptr) < 0) continue;  // a signal: is it the end?
        Snapshot now = reader_.take();
        if (!print(report(before, now)) || options_.once) return;
        before = std::move(now);
    }
}

// The screen, until the user has seen enough.
class Live {
  public:
    explicit Live(const Options& options) : options_(options) {}

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

// One that is no expression is asked for again; none clears the filter.
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

// False: the end.
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

// Waits for the interval's end, obeying meanwhile. False: the end.
bool Live::wait() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point began = Clock::now();
    for (;;) {
        const auto left = began + options_.interval - Clock::now();
        if (left <= Clock::duration::zero()) return true;
        const Wish wish = screen_.wait(std::chrono::ceil<milliseconds>(left));
        if (ending != 0) return false;
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

int main_program(std::vector<std::string> arguments) {
    const auto parsed = parse_options(std::move(arguments), isatty(STDOUT_FILENO) != 0);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        std::fputs(refusal->text.c_str(), stderr);
        return wrong_usage;
    }
    try {
        watch_signals();
        if (std::holds_alternative<Help>(parsed)) {
            print(help_text());
        } else if (const auto& options = std::get<Options>(parsed); options.batch) {
            Batch(options).run();
        } else {
            Live(options).run();
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gstat: %s\n", error.what());
        return 1;
    }
    return 0;
}

}  // namespace
}  // namespace blkscope::gstat

int main(int argc, char** argv) {
    return blkscope::gstat::main_program({argv, argv + argc});
}
