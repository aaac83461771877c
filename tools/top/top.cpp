#include "tools/top/top.hpp"

#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "base/log_line.hpp"
#include "tools/program/left_out.hpp"
#include "tools/program/print.hpp"
#include "tools/program/signals.hpp"
#include "tools/top/batch.hpp"
#include "tools/top/events.hpp"
#include "tools/top/reader.hpp"
#include "tools/top/session.hpp"
#include "tools/top/terminal.hpp"

namespace blkscope::top {
namespace {

// Counts the looks up to the number that the user gave. Without a number there is no last look.
class Looks {
  public:
    explicit Looks(std::optional<unsigned> count) : count_(count) {}

    /// Must be called after each look.
    [[nodiscard]] bool was_the_last() { return count_ && ++taken_ >= *count_; }

  private:
    std::optional<unsigned> count_;
    unsigned taken_ = 0;
};

bool ends_the_run(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// The named devices that are not there.
std::vector<std::string> missing_names(const Options& options, const Look& look) {
    std::vector<std::string> missing;
    for (const std::string& name : options.devices) {
        const bool found = std::ranges::any_of(look.devices, [&](const DeviceLook& one) {
            return iostat::is_name_of(name, one.device.name, one.device.provider);
        });
        if (!found) missing.push_back(name);
    }
    return missing;
}

// With --must-exist: throws if a named device is missing, or if there is no device at all.
void require_all(const Options& options, const Look& look) {
    if (!options.must_exist) return;
    const std::vector<std::string> missing = missing_names(options, look);
    if (!missing.empty() || look.devices.empty()) {
        throw std::runtime_error("top: " + iostat::no_devices_text(missing));
    }
}

// A run on a terminal.
class ScreenRun {
  public:
    explicit ScreenRun(const Options& options)
        : options_(options),
          events_({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT},
                  options.interval_ns(), true),
          looks_(options.count),
          reader_(options.devices, true),
          session_(options.interval_ns(), iostat::no_devices_text(options.devices)) {}

    /// Returns the signal that ended the run. 0 if the user, the count or a closed terminal did.
    int go() {
        const Look first = reader_.look();  // throws, if at all, before the terminal changes
        require_all(options_, first);
        session_.take(first);
        if (looks_.was_the_last()) looks_done_ = true;
        program::keep_quiet_about_providers();
        Terminal terminal(options_.color);
        draw(terminal);
        while (!looks_done_ && !quit_) {
            const Event event = events_.wait();
            if (event.hung_up) return 0;
            if (ends_the_run(event.signal)) return event.signal;
            handle(terminal, event);
            draw(terminal);
        }
        return 0;
    }

  private:
    void draw(Terminal& terminal) {
        terminal.draw(session_.render(Terminal::size(), terminal.style()));
    }

    void handle(Terminal& terminal, const Event& event) {
        if (event.signal == SIGTSTP) {
            Terminal::suspend();
            program::suffer(SIGTSTP);
        }
        if (event.signal == SIGCONT || event.signal == SIGWINCH || event.signal == SIGTSTP) {
            draw(terminal);  // takes over the terminal, if it was given back
            Terminal::renew();
        }
        if (event.look) look();
        if (event.input) obey(Terminal::read_keys());
    }

    void look() {
        try {
            session_.take(reader_.look());
        } catch (const std::runtime_error& failure) {
            session_.tell(failure.what());  // the next look may succeed
        }
        looks_done_ = looks_.was_the_last();
    }

    void obey(const std::string& keys) {
        for (const char key : keys) {
            const Answer answer = session_.press(key);
            if (answer == Answer::quit) quit_ = true;
            if (answer == Answer::interval) events_.set_interval(session_.interval_ns());
        }
    }

    const Options& options_;
    Events events_;
    Looks looks_;
    Reader reader_;
    Session session_;
    bool looks_done_ = false;
    bool quit_ = false;
};

// Returns the signal that ended the run; 0 if the count did.
int run_in_lines(const Options& options) {
    std::signal(SIGPIPE, SIG_IGN);  // write(2) reports a closed pipe
    Events events({SIGINT, SIGTERM, SIGHUP, SIGQUIT}, options.interval_ns(), false);
    Looks looks(options.count);
    Reader reader(options.devices);
    Model model;
    bool told = false;
    for (;;) {
        const Look look = reader.look();
        require_all(options, look);
        model.take(look);
        const std::vector<std::string> missing = missing_names(options, look);
        if ((model.devices().empty() || !missing.empty()) && !std::exchange(told, true)) {
            log_line("top: ", iostat::no_devices_text(missing));
        }
        program::print(batch_report(model), "top: cannot write");
        if (looks.was_the_last()) return 0;
        Event event;
        do {
            event = events.wait();
            if (ends_the_run(event.signal)) return event.signal;
        } while (!event.look);
    }
}

bool on_a_terminal() {
    return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

int run_until_the_end(Options options) {
    if (options.batch || !on_a_terminal()) return run_in_lines(options);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
    options.color = options.color && color_allowed(std::getenv("NO_COLOR"));
    std::setlocale(LC_CTYPE, "");  // NOLINT(concurrency-mt-unsafe): the same
    return ScreenRun(options).go();
}

}  // namespace

void run(const Options& options) {
    int signal = 0;
    try {
        signal = run_until_the_end(options);
    } catch (const program::OutputClosed&) {
        return;
    }
    if (signal != 0) program::suffer(signal);
}

}  // namespace blkscope::top
