#include "tools/iostat/freebsd/report.hpp"

#include <fmt/format.h>

namespace blkscope::iostat::freebsd {
namespace {

constexpr auto cpu_title = "            cpu";
constexpr auto cpu_title_above = "      cpu";  // with -x
constexpr auto cpu_columns = " us ni sy in id";

using blkscope::freebsd::Figures;

// If no time has passed, rates are totals.
Figures figures_of(const Shown& device) {
    return {device.now, device.before ? &*device.before : nullptr,
            device.elapsed_s > 0 ? device.elapsed_s : 1};
}

std::string usual_columns(const Options& options, const Figures& of) {
    if (options.totals) {
        return fmt::format(" {:5.2f} {:3} {:5.2f} ", of(DSM_KB_PER_TRANSFER),
                           of.count(DSM_TOTAL_TRANSFERS), of.megabytes(DSM_TOTAL_BYTES));
    }
    return fmt::format(" {:5.2f} {:3.0f} {:5.2f} ", of(DSM_KB_PER_TRANSFER),
                       of(DSM_TRANSFERS_PER_SECOND), of(DSM_MB_PER_SECOND));
}

// A column. A blank is in front only if the text leaves room for it.
std::string column(const std::string& text, size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : " " + text;
}

// Blocks in all, or blocks of 1024 bytes: whole ones, as in the original.
uint64_t total_blocks(const Options& options, const Shown& device, const Figures& of) {
    const uint64_t blocks = of.count(DSM_TOTAL_BLOCKS);
    if (!options.kilobytes) return blocks;
    constexpr uint64_t usual = 512;
    return blocks * (device.now.block_size != 0 ? device.now.block_size : usual) / 1024;
}

double blocks_per_second(const Options& options, const Figures& of) {
    return options.kilobytes ? of.kilobytes(DSM_TOTAL_BYTES) / of.elapsed_s()
                             : of(DSM_BLOCKS_PER_SECOND);
}

// The columns sps, tps and msps; with -I the counts. Milliseconds have a decimal if it fits.
std::string old_columns(const Options& options, const Shown& device, const Figures& of) {
    const double ms = of(DSM_MS_PER_TRANSACTION);
    const std::string msps = column(fmt::format("{:.{}f}", ms, ms < 100 ? 1 : 0), 5) + " ";
    if (options.totals) {
        return column(std::to_string(total_blocks(options, device, of)), 4) +
               column(std::to_string(of.count(DSM_TOTAL_TRANSFERS)), 4) + msps;
    }
    return column(fmt::format("{:.0f}", blocks_per_second(options, of)), 4) +
           column(fmt::format("{:.0f}", of(DSM_TRANSFERS_PER_SECOND)), 4) + msps;
}

std::string machine_cpu(const Machine& machine) {
    std::string text;
    for (const double percent : machine.cpu) text += fmt::format(" {:2.0f}", std::rint(percent));
    return text;
}

std::string machine_tty(const Machine& machine) {
    return fmt::format("{:4.0f} {:5.0f}", machine.characters_in, machine.characters_out);
}

// Behind the first device of -x: one column less.
std::string extended_tty(const Machine& machine) {
    return column(fmt::format("{:.0f}", machine.characters_in), 4) +
           column(fmt::format("{:.0f}", machine.characters_out), 5);
}

std::string short_report(const Options& options, const std::vector<Shown>& devices,
                         const Machine& machine) {
    std::string text;
    if (options.tty) text += machine_tty(machine);
    for (const Shown& device : devices) {
        const Figures of = figures_of(device);
        text += options.old_columns ? old_columns(options, device, of) : usual_columns(options, of);
    }
    if (options.cpu) text += machine_cpu(machine);
    return text + "\n";
}

// Whole numbers are truncated, as in the original.
std::string extended_line(const Options& options, const Shown& device, const Figures& of) {
    const std::string name = fmt::format("{:<8.8} ", device.name);
    if (options.totals) {
        return name + fmt::format("{:11.1f} {:11.1f} {:12.1f} {:12.1f} {:4} {:10.1f} {:9.1f} ",
                                  static_cast<double>(of.count(DSM_TOTAL_TRANSFERS_READ)),
                                  static_cast<double>(of.count(DSM_TOTAL_TRANSFERS_WRITE)),
                                  of.kilobytes(DSM_TOTAL_BYTES_READ),
                                  of.kilobytes(DSM_TOTAL_BYTES_WRITE), of.count(DSM_QUEUE_LENGTH),
                                  of(DSM_TOTAL_DURATION), of(DSM_TOTAL_BUSY_TIME));
    }
    const auto whole = [&](devstat_metric metric) { return static_cast<long>(of(metric)); };
    return name +
           fmt::format("{:7} {:7} {:8.1f} {:8.1f} {:5} {:5} {:5} {:5} {:4} {:3.0f} ",
                       whole(DSM_TRANSFERS_PER_SECOND_READ), whole(DSM_TRANSFERS_PER_SECOND_WRITE),
                       of(DSM_MB_PER_SECOND_READ) * 1024, of(DSM_MB_PER_SECOND_WRITE) * 1024,
                       whole(DSM_MS_PER_TRANSACTION_READ), whole(DSM_MS_PER_TRANSACTION_WRITE),
                       whole(DSM_MS_PER_TRANSACTION_OTHER), whole(DSM_MS_PER_TRANSACTION),
                       of.count(DSM_QUEUE_LENGTH), of.busy_percent());
}

// Whether any figure would be visible in the columns.
bool does_something(const Figures& of) {
    constexpr double per_second = 0.05;
    constexpr double megabytes = 0.0005 / 1024;
    constexpr double percent = 0.5;
    return of(DSM_TRANSFERS_PER_SECOND_READ) > per_second ||
           of(DSM_TRANSFERS_PER_SECOND_WRITE) > per_second ||
           of(DSM_MB_PER_SECOND_READ) > megabytes || of(DSM_MB_PER_SECOND_WRITE) > megabytes ||
           of.busy_percent() > percent;
}

std::string extended_header(const Options& options) {
    std::string text = "                        extended device statistics  ";
    if (options.tty) text += "      tty ";
    text += options.totals
                ? "\ndevice           r/i         w/i         kr/i         kw/i qlen   tsvc_t/i  "
                  "    sb/i  "
                : "\ndevice       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b  ";
    if (options.tty) text += "tin  tout ";
    return text + "\n";
}

// The line of the terminals and processors with -z, if no device has a line.
std::string machine_line(const Options& options, const Machine& machine) {
    if (!options.tty && !options.cpu) return "";
    constexpr size_t indent = 52;
    return std::string(indent, ' ') + (options.tty ? machine_tty(machine) : "") +
           (options.cpu ? machine_cpu(machine) : "") + "\n";
}

// The processors are above the devices, and the terminals behind the first device.
std::string extended_report(const Options& options, const std::vector<Shown>& devices,
                            const Machine& machine) {
    std::string text;
    if (options.cpu) {
        text +=
            std::string(cpu_title_above) + "\n" + cpu_columns + "\n" + machine_cpu(machine) + "\n";
    }
    text += extended_header(options);
    bool first = true;
    for (const Shown& device : devices) {
        const Figures of = figures_of(device);
        if (options.idle_hidden && !does_something(of)) continue;
        text += extended_line(options, device, of);
        if (first && options.tty) text += extended_tty(machine);
        first = false;
        text += "\n";
    }
    if (first && options.idle_hidden) text += machine_line(options, machine);
    return text;
}

constexpr auto help =
    R"(usage: iostat --style=freebsd [-CdhIKoTxz] [-c count] [-n devs]
              [-t type,if,pass] [-w wait] [drives] [wait [count]]

Reports as FreeBSD's iostat does, from the same counters that gstat reads. The
first report is since each device was created.

  -C          us ni sy in id of the processors (the default without -d and -x)
  -c count    reports, one a second where -w does not say otherwise
  -d          devices only                -h  the busiest first
  -I          totals of the interval      -K  with -o: blocks of 1024 bytes
  -n devs     at most so many devices     -o  sps tps msps: blocks and transfers
  -T          tin tout of terminals           per second, ms per transfer
  -t type,if,pass   only devices of this type (da, cd, ...) and interface
  -w wait     seconds between reports, and no end without -c
  -x          a line per device           -z  with -x: no idle devices
)";

}  // namespace

std::string help_text() {
    return help;
}

std::string header(const Options& options, const std::vector<Shown>& devices) {
    if (options.extended) return {};
    std::string titles;
    std::string columns;
    if (options.tty) {
        titles += "       tty";
        columns += " tin  tout";
    }
    for (const Shown& device : devices) {
        titles += fmt::format("{:>{}.6} ", device.name, options.old_columns ? 13 : 16);
        columns += options.old_columns
                       ? (options.totals ? " blk xfr msps " : " sps tps msps ")
                       : (options.totals ? "  KB/t xfrs   MB " : "  KB/t tps  MB/s ");
    }
    if (options.cpu) {
        titles += cpu_title;
        columns += cpu_columns;
    }
    return titles + "\n" + columns + "\n";
}

std::string report(const Options& options, const std::vector<Shown>& devices,
                   const Machine& machine) {
    return options.extended ? extended_report(options, devices, machine)
                            : short_report(options, devices, machine);
}

std::array<double, CPUSTATES> cpu_percentages(const std::array<long, CPUSTATES>& before,
                                              const std::array<long, CPUSTATES>& now) {
    std::array<double, CPUSTATES> percentages{};
    double total = 0;
    for (size_t i = 0; i < now.size(); ++i) {
        percentages[i] = static_cast<double>(now[i] - before[i]);
        total += percentages[i];
    }
    if (total <= 0) return {};
    for (double& percentage : percentages) percentage *= 100 / total;
    return percentages;
}

}  // namespace blkscope::iostat::freebsd
