// iostat: wires the options, the reader, the reporter and the clock together.

#include <sys/kstat.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <system_error>

#include "iostat/cadence.hpp"
#include "iostat/format.hpp"
#include "iostat/options.hpp"
#include "iostat/reader.hpp"
#include "iostat/report.hpp"
#include "iostat/usage.hpp"

namespace blkscope::iostat {

namespace {

constexpr int failed = 2;
constexpr hrtime_t ns_per_s = 1'000'000'000;

volatile std::sig_atomic_t continued = 0;

void note_continuation(int /*signal*/) {
    continued = 1;
}

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

void watch_signals() {
    struct sigaction action {};
    action.sa_handler = note_continuation;
    sigaction(SIGCONT, &action, nullptr);  // without SA_RESTART: the sleep shall end
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

// Prints the header anew when the process is continued in the middle of it.
void sleep_until(hrtime_t wake, Reporter& reporter, bool& was_continued) {
    const timespec until{.tv_sec = wake / ns_per_s, .tv_nsec = wake % ns_per_s};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
        if (continued == 0) continue;
        continued = 0;
        was_continued = true;
        print(reporter.header_again());
    }
}

void run(const Options& options) {
    const hrtime_t interval = options.interval_s.value_or(0) * ns_per_s;
    Cadence cadence(gethrtime(), interval, !options.count);
    Reader reader(options);
    Reporter reporter(options);
    bool was_continued = false;
    bool complained = false;
    const int reports = options.interval_s ? options.count.value_or(0) : 1;  // 0: no end
    for (int number = 1;; ++number) {
        const std::vector<Device> devices = reader.read();
        if (!complained && devices.empty() && !reader.anything_published()) {
            complained = true;
            complain("iostat: no kstats in " + run_directory() +
                     "; start a server with 'blkscope serve'\n");
        }
        print(stamp_line(std::time(nullptr), options.stamp) +
              reporter.report(select(devices, options)));
        if (number == reports) return;
        sleep_until(cadence.next_wake(gethrtime(), was_continued), reporter, was_continued);
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
    } catch (const std::system_error& error) {
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
    return blkscope::iostat::main_program({argv, argv + argc});
}
