// kstat: wires the options, the reader, the reporter and the clock together.

#include <sys/kstat.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <new>
#include <string_view>
#include <system_error>

#include "tools/cadence/cadence.hpp"
#include "tools/kstat/options.hpp"
#include "tools/kstat/reader.hpp"
#include "tools/kstat/report.hpp"
#include "tools/kstat/usage.hpp"

namespace blkscope::kstat_command {

namespace {

// The exit statuses.
constexpr int matched = 0;
constexpr int nothing_matched = 1;
constexpr int wrong_usage = 2;
constexpr int failed = 3;

constexpr hrtime_t ns_per_s = 1'000'000'000;

volatile std::sig_atomic_t continued = 0;

void note_continuation(int /*signal*/) {
    continued = 1;
}

void watch_signals() {
    struct sigaction action {};
    action.sa_handler = note_continuation;
    sigaction(SIGCONT, &action, nullptr);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

// Writes a whole report at once. False: the reader of our output has had enough.
bool print(std::string_view text) {
    errno = 0;
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
    if (errno == EPIPE) return false;
    throw std::system_error(errno, std::generic_category(), "cannot write");
}

void complain(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);  // nowhere to tell of a failure
}

void sleep_until(hrtime_t wake) {
    const timespec until{.tv_sec = wake / ns_per_s, .tv_nsec = wake % ns_per_s};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

int run(const Options& options) {
    Cadence cadence(gethrtime(), options.interval_s.value_or(0) * ns_per_s, !options.count);
    Reader reader(options);
    Reporter reporter(options);
    const int reports = options.interval_s ? options.count.value_or(0) : 1;  // 0: no end
    for (int number = 1;; ++number) {
        std::string text = reporter.report(reader.read(), std::time(nullptr));
        const bool last = number == reports;
        if (!last && !options.quiet) text += '\n';
        if (!print(text) || last) break;
        sleep_until(cadence.next_wake(gethrtime(), continued != 0));
    }
    return reporter.matched() ? matched : nothing_matched;
}

int main_program(std::vector<std::string> arguments) {
    try {
        const auto parsed = parse_options(std::move(arguments));
        if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
            complain(refusal->text);
            return wrong_usage;
        }
        if (std::holds_alternative<Help>(parsed)) {
            complain(help_text());
            return 0;
        }
        watch_signals();
        return run(std::get<Options>(parsed));
    } catch (const BadPattern& bad) {
        complain(std::string("kstat: ") + bad.what() + "\n");
        return wrong_usage;
    } catch (const std::system_error& error) {
        complain(std::string("kstat: ") + error.what() + "\n");
    } catch (const std::bad_alloc&) {
        complain("kstat: out of memory\n");
    }
    return failed;
}

}  // namespace

}  // namespace blkscope::kstat_command

int main(int argc, char** argv) {
    // The date is in the user's language; numbers are not.
    std::setlocale(LC_TIME, "");  // NOLINT(concurrency-mt-unsafe): before any thread could exist
    return blkscope::kstat_command::main_program({argv, argv + argc});
}
