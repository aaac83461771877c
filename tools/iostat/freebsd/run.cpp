#include "tools/iostat/freebsd/run.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "tools/iostat/freebsd/devices.hpp"
#include "tools/iostat/freebsd/options.hpp"
#include "tools/iostat/freebsd/report.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/program/main.hpp"
#include "tools/program/pace.hpp"
#include "tools/program/signals.hpp"

namespace blkscope::iostat::freebsd {
namespace {

using program::complain;
using program::print;
using CpuTime = std::array<long, CPUSTATES>;

constexpr int failed = 1;

// The processors' time since the system's start. Waiting for I/O counts as idle, and both types of
// interrupts count as one. Source: proc(5), /proc/stat.
CpuTime read_cpu_time() {
    std::ifstream in("/proc/stat");
    std::string cpu;
    std::array<long, 7> ticks{};  // user, nice, system, idle, iowait, irq, softirq
    in >> cpu;
    for (long& column : ticks) in >> column;
    CpuTime time{};
    time[CP_USER] = ticks[0];
    time[CP_NICE] = ticks[1];
    time[CP_SYS] = ticks[2];
    time[CP_INTR] = ticks[5] + ticks[6];
    time[CP_IDLE] = ticks[3] + ticks[4];
    return time;
}

// The number of lines between two headers, so that a terminal always shows a header.
int lines_per_header() {
    constexpr int usual = 20;
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 3;
    return known ? size.ws_row - 3 : usual;
}

// Reads terminals and processors, over the last interval.
class Host {
  public:
    explicit Host(const Options& options) : options_(options), reader_(reader_options()) {}

    Machine look(hrtime_t now);

  private:
    // The options for a reader of the processors alone.
    static iostat::Options reader_options() {
        iostat::Options options;
        options.disks = false;
        return options;
    }

    const Options& options_;
    iostat::Reader reader_;
    CpuTime cpu_{};
    uint64_t characters_in_ = 0;
    uint64_t characters_out_ = 0;
    hrtime_t when_ = 0;  // the system's start before the first reading
};

Machine Host::look(hrtime_t now) {
    Machine machine;
    if (options_.cpu) {
        const CpuTime cpu = read_cpu_time();
        machine.cpu = cpu_percentages(cpu_, cpu);
        cpu_ = cpu;
    }
    if (!options_.tty) return machine;
    static_cast<void>(reader_.read());
    const Processor sum = sum_of(reader_.read_processors());
    const double seconds = std::max(static_cast<double>(now - when_) / 1e9, 1e-3);
    machine.characters_in = static_cast<double>(sum.characters_in - characters_in_) / seconds;
    machine.characters_out = static_cast<double>(sum.characters_out - characters_out_) / seconds;
    characters_in_ = sum.characters_in;
    characters_out_ = sum.characters_out;
    when_ = now;
    return machine;
}

// One run, from the first report to the last.
class Run {
  public:
    explicit Run(const Options& options)
        : options_(options),
          devices_(options),
          host_(options),
          pace_(std::chrono::nanoseconds(options.wait).count(), options.count) {}

    void report_until_the_end();

  private:
    void look();
    void tell_what_is_missing(const std::vector<Shown>& shown);
    void require_all(const std::vector<Shown>& shown) const;

    const Options& options_;
    Devices devices_;
    Host host_;
    program::Pace pace_;
    int lines_left_ = 0;  // number of lines until the next header
    bool told_ = false;
};

// Prints each message once. Missing data are shown as empty or 0.
void Run::tell_what_is_missing(const std::vector<Shown>& shown) {
    const std::vector<std::string> missing = devices_.missing();
    if (told_ || (!shown.empty() && missing.empty())) return;
    told_ = true;
    if (!shown.empty()) {
        complain(fmt::format("iostat: no device named {} in {}\n", fmt::join(missing, " or "),
                             run_directory()));
    } else if (devices_.none_at_all()) {
        complain("iostat: " + no_devices_text() + "\n");
    } else if (!options_.drives.empty() || !options_.matches.empty()) {
        complain("iostat: no such device in " + run_directory() +
                 "; 'gstat' shows those that there are\n");
    }
}

void Run::require_all(const std::vector<Shown>& shown) const {
    const std::vector<std::string> missing = devices_.missing();
    if (!missing.empty()) {
        throw std::runtime_error(
            fmt::format("no device named {} in {}", fmt::join(missing, " or "), run_directory()));
    }
    if (shown.empty()) throw std::runtime_error("no such device in " + run_directory());
}

void Run::look() {
    const bool others = devices_.look();
    const std::vector<Shown> shown = devices_.shown();
    if (options_.must_exist) require_all(shown);
    tell_what_is_missing(shown);
    const Machine machine = host_.look(gethrtime());
    std::string text;
    if (others || lines_left_ == 0) {
        text = header(options_, shown);
        lines_left_ = lines_per_header();
    }
    --lines_left_;
    print(text + report(options_, shown, machine));
}

// A signal that ends the run causes a last report on the time until then. So does one that comes within
// a report.
void Run::report_until_the_end() {
    for (;;) {
        const bool ends = program::ending_signal() != 0;
        look();
        if (ends || pace_.at_last()) return;
        pace_.wait([this] { lines_left_ = 0; });
    }
}

int run(const Options& options) {
    complain(options.warnings);
    Run(options).report_until_the_end();
    return 0;
}

}  // namespace

int main_program(std::vector<std::string> arguments) {
    return program::obey(
        {"iostat", failed, [] { print(help_text()); }},
        [&] { return parse_options(std::move(arguments)); }, run);
}

}  // namespace blkscope::iostat::freebsd
