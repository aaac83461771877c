// The simulator's program: runs one life after the other, until one fails or the time is over.

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

#include "base/clock.hpp"
#include "blockdev/ring/planted.hpp"
#include "life.hpp"

#ifdef BLKSCOPE_PLANTED
const char* blkscope::planted_defect = "";
#endif

namespace {

using blkscope::simulation::Cuts;
using blkscope::simulation::live;
using blkscope::simulation::Outcome;
using std::chrono::steady_clock;

constexpr unsigned life_seconds_max = 60;  // of processor time, which other programs do not shorten

uint64_t seed_now = 0;
int words = STDOUT_FILENO;
std::string repeat_with;

void say(const std::string& line) {
    dprintf(words, "%s\n", line.c_str());
}

// Reports an assertion, a crash, or a life that never ends.
extern "C" void on_signal(int signal) {
    dprintf(words, "seed %llu FAILED: signal %d; repeat: tests/simulation/run%s --seed %llu\n",
            static_cast<unsigned long long>(seed_now), signal, repeat_with.c_str(),
            static_cast<unsigned long long>(seed_now));
    _exit(3);
}

struct Options {
    uint64_t seeds = 1000;
    uint64_t from = 1;
    double seconds = 0;
    uint64_t seed = 0;
    bool one = false;
    bool shrink = false;
    bool verbose = false;
    Cuts cuts;
    std::string planted;
};

// SIGPROF comes when the process has used so much processor time; 0 unsets it.
void limit_life(unsigned seconds) {
    itimerval limit{};
    limit.it_value.tv_sec = seconds;
    setitimer(ITIMER_PROF, &limit, nullptr);
}

Outcome live_one(uint64_t seed, const Cuts& cuts) {
    seed_now = seed;
    limit_life(life_seconds_max);
    Outcome outcome = live(seed, cuts);
    limit_life(0);
    return outcome;
}

void report(uint64_t seed, const Outcome& outcome, bool repeats) {
    const std::string number = std::to_string(seed);
    char hash[32];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(outcome.hash));
    say("seed " + number + " FAILED: " + outcome.verdict + " [" + outcome.plan + "; " +
        std::to_string(outcome.events) + " events, hash " + hash +
        (repeats ? ", twice" : ", NOT THE SAME AGAIN") + "]; repeat: tests/simulation/run" +
        repeat_with + " --seed " + number);
}

// Runs the life in another process, which may crash.
bool fails(uint64_t seed, const Cuts& cuts) {
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        words = nowhere;
        _exit(live_one(seed, cuts).verdict.empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
}

// Leaves out one part after the other while the life still fails.
Cuts shrink(uint64_t seed, Cuts cuts) {
    const auto attempt = [&](const std::function<void(Cuts&)>& cut) {
        Cuts fewer = cuts;
        cut(fewer);
        if (fails(seed, fewer)) cuts = fewer;
    };
    attempt([](Cuts& c) { c.no_faults = true; });
    attempt([](Cuts& c) { c.no_reload = true; });
    attempt([](Cuts& c) { c.no_changes = true; });
    attempt([](Cuts& c) { c.no_crash = true; });
    attempt([](Cuts& c) { c.no_clocks = true; });
    for (const unsigned troubles : {4U, 2U, 1U, 0U}) {
        attempt([troubles](Cuts& c) { c.troubles_max = troubles; });
    }
    attempt([](Cuts& c) { c.workers_max = 1; });
    attempt([](Cuts& c) { c.workers_max = 2; });
    for (unsigned client = 0; client < 6; ++client) {
        attempt([client](Cuts& c) { c.clients.insert(client); });
    }
    for (unsigned requests = 128; requests > 0; requests /= 2) {
        attempt([requests](Cuts& c) { c.requests_max = requests; });
    }
    for (unsigned step = 8; step > 0; step /= 2) {
        for (int i = 0; i < 4; ++i) {
            attempt([step](Cuts& c) {
                if (c.requests_max > step) c.requests_max -= step;
            });
        }
    }
    return cuts;
}

std::string describe(const Cuts& cuts) {
    std::string text = "requests of each client: " + std::to_string(cuts.requests_max);
    text += ", workers: " + std::to_string(cuts.workers_max) + " at most, clients left out:";
    for (const unsigned client : cuts.clients) text += " " + std::to_string(client);
    if (cuts.troubles_max < Cuts{}.troubles_max) {
        text += ", troubles: " + std::to_string(cuts.troubles_max) + " at most";
    }
    if (cuts.no_faults) text += ", no faults";
    if (cuts.no_crash) text += ", no crash";
    if (cuts.no_reload) text += ", no reload";
    if (cuts.no_changes) text += ", no live changes";
    if (cuts.no_clocks) text += ", true clocks";
    return text;
}

int run_one(const Options& options) {
    if (options.shrink) {
        if (!fails(options.seed, options.cuts)) {
            say("seed " + std::to_string(options.seed) + " does not fail");
            return 0;
        }
        const Cuts cuts = shrink(options.seed, options.cuts);
        say("shrunk to: " + describe(cuts));
        const Outcome outcome = live_one(options.seed, cuts);
        say(outcome.plan + "; " + std::to_string(outcome.events) + " events: " + outcome.verdict);
        return 1;
    }
    const Outcome outcome = live_one(options.seed, options.cuts);
    const Outcome again = live_one(options.seed, options.cuts);
    const bool repeats = outcome.hash == again.hash;
    if (!outcome.verdict.empty() || !repeats) {
        report(options.seed, outcome, repeats);
        return 1;
    }
    say("seed " + std::to_string(options.seed) + ": well; " + outcome.plan + "; " +
        std::to_string(outcome.events) + " events, " + std::to_string(outcome.answers) +
        " answers");
    return 0;
}

int run_many(const Options& options) {
    const auto began = steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(steady_clock::now() - began).count();
    };
    uint64_t lives = 0;
    uint64_t answers = 0;
    uint64_t events = 0;
    for (uint64_t seed = options.from; lives < options.seeds; ++seed) {
        if (options.seconds > 0 && seconds() > options.seconds) break;
        const Outcome outcome = live_one(seed, options.cuts);
        if (!outcome.verdict.empty()) {
            report(seed, outcome, live_one(seed, options.cuts).hash == outcome.hash);
            return 1;
        }
        // One good life in 64 is run twice, and each with TLS.
        if ((lives % 64 == 0 || outcome.tls) && live_one(seed, options.cuts).hash != outcome.hash) {
            report(seed, outcome, false);
            return 1;
        }
        ++lives;
        answers += outcome.answers;
        events += outcome.events;
    }
    char text[160];
    std::snprintf(text, sizeof text, "%llu lives, %llu answers, %llu events, %.1f s, %.0f lives/s",
                  static_cast<unsigned long long>(lives), static_cast<unsigned long long>(answers),
                  static_cast<unsigned long long>(events), seconds(),
                  static_cast<double>(lives) / seconds());
    say(text);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Lives of blkscope in virtual time, each drawn from a seed."};
    app.add_option("--seeds", options.seeds, "number of lives");
    app.add_option("--from", options.from, "the first seed");
    app.add_option("--for", options.seconds, "limit of seconds");
    CLI::Option* const one = app.add_option("--seed", options.seed, "run this life only, twice");
    app.add_flag("--shrink", options.shrink, "leave out the parts that the failure does not need");
    app.add_flag("--strict", options.cuts.strict,
                 "a flush under way when a sync fails must keep its promise, too");
    app.add_flag("--verbose", options.verbose, "with the server's log");
#ifdef BLKSCOPE_PLANTED
    app.add_option("--planted", options.planted, "with this defect: see tests/simulation/planted");
#endif
    CLI11_PARSE(app, argc, argv);
    options.one = one->count() > 0;
#ifdef BLKSCOPE_PLANTED
    blkscope::planted_defect = options.planted.c_str();
    if (!options.planted.empty()) repeat_with = " --planted " + options.planted;
#endif

    words = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (!options.verbose) {
        const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(nowhere, STDERR_FILENO);
    }
    for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGPROF, SIGFPE, SIGILL}) {
        signal(number, on_signal);
    }
    // Makes a tick a nanosecond, so that times are the same on every machine.
    blkscope::calibrate_clock();
    blkscope::detail::hot_clock.counting.store(false);

    return options.one ? run_one(options) : run_many(options);
}
