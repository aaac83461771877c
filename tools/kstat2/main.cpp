// kstat2: wires the options, the reader, the reports and the clock together.

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
#include "tools/kstat2/options.hpp"
#include "tools/kstat2/reader.hpp"
#include "tools/kstat2/report.hpp"
#include "tools/kstat2/usage.hpp"

namespace blkscope::kstat2_command {

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
    throw Failure("cannot write: " + std::generic_category().message(errno));
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
    int status = nothing_matched;
    const int reports = options.interval_s ? options.count.value_or(0) : 1;  // 0: no end
    for (int number = 1;; ++number) {
        const auto readings = reader.read();
        if (!readings.empty()) status = matched;
        if (!print(report(options, readings, std::time(nullptr))) || number == reports) break;
        sleep_until(cadence.next_wake(gethrtime(), continued != 0));
    }
    return status;
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
        complain(std::string("kstat2: ") + bad.what() + "\n");
        return wrong_usage;
    } catch (const Failure& failure) {
        complain(std::string("kstat2: ") + failure.what() + "\n");
    } catch (const std::bad_alloc&) {
        complain("kstat2: out of memory\n");
    }
    return failed;
}

}  // namespace

}  // namespace blkscope::kstat2_command

int main(int argc, char** argv) {
    // The date is in the user's language; numbers are not.
    std::setlocale(LC_TIME, "");  // NOLINT(concurrency-mt-unsafe): before any thread could exist
    return blkscope::kstat2_command::main_program({argv, argv + argc});
}
