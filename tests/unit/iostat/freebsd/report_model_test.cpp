// The report against a slow model of the original: its formats, one after the other, over random
// devices and options. Numbers stay small enough for their columns. Beyond these the original lets
// them touch each other.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "devstat/entries/bintime.hpp"
#include "printed.hpp"
#include "rounds.hpp"
#include "tools/iostat/freebsd/report.hpp"

namespace blkscope::iostat::freebsd {
namespace {

long double number(const Shown& device, devstat_metric metric) {
    Devstat now = device.now;
    Devstat before = *device.before;
    long double value = 0;
    EXPECT_EQ(devstat_compute_statistics(&now, &before, device.elapsed_s, metric, &value, DSM_NONE),
              0);
    return value;
}

uint64_t count(const Shown& device, devstat_metric metric) {
    Devstat now = device.now;
    Devstat before = *device.before;
    uint64_t value = 0;
    EXPECT_EQ(devstat_compute_statistics(&now, &before, device.elapsed_s, metric, &value, DSM_NONE),
              0);
    return value;
}

uint64_t blocks(const Options& options, const Shown& device) {
    const uint64_t all = count(device, DSM_TOTAL_BLOCKS);
    const uint64_t size = device.now.block_size != 0 ? device.now.block_size : 512;
    return options.kilobytes ? all * size / 1024 : all;
}

std::string cpu_text(const Machine& machine) {
    std::string text;
    for (const double percent : machine.cpu) text += print(" %2.0f", std::rint(percent));
    return text;
}

std::string short_text(const Options& options, const Shown& device) {
    const long double ms = number(device, DSM_MS_PER_TRANSACTION);
    const int digits = ms < 100 ? 1 : 0;
    const auto transfers = static_cast<unsigned long long>(count(device, DSM_TOTAL_TRANSFERS));
    if (options.old_columns && options.totals) {
        return print("%4llu%4llu%5.*Lf ", static_cast<unsigned long long>(blocks(options, device)),
                     transfers, digits, ms);
    }
    if (options.old_columns) {
        return print("%4.0Lf%4.0Lf%5.*Lf ", number(device, DSM_BLOCKS_PER_SECOND),
                     number(device, DSM_TRANSFERS_PER_SECOND), digits, ms);
    }
    if (options.totals) {
        const long double megabytes =
            static_cast<long double>(count(device, DSM_TOTAL_BYTES)) / (1024 * 1024);
        return print(" %5.2Lf %3llu %5.2Lf ", number(device, DSM_KB_PER_TRANSFER), transfers,
                     megabytes);
    }
    return print(" %5.2Lf %3.0Lf %5.2Lf ", number(device, DSM_KB_PER_TRANSFER),
                 number(device, DSM_TRANSFERS_PER_SECOND), number(device, DSM_MB_PER_SECOND));
}

std::string extended_text(const Options& options, const Shown& device) {
    const auto whole = [&](devstat_metric metric) {
        return static_cast<int>(number(device, metric));
    };
    const auto total = [&](devstat_metric metric) {
        return static_cast<long double>(count(device, metric));
    };
    const auto queue = static_cast<unsigned long long>(count(device, DSM_QUEUE_LENGTH));
    const std::string name = print("%-8.8s ", device.name.c_str());
    if (options.totals) {
        return name + print("%11.1Lf %11.1Lf %12.1Lf %12.1Lf %4llu %10.1Lf %9.1Lf ",
                            total(DSM_TOTAL_TRANSFERS_READ), total(DSM_TOTAL_TRANSFERS_WRITE),
                            total(DSM_TOTAL_BYTES_READ) / 1024, total(DSM_TOTAL_BYTES_WRITE) / 1024,
                            queue, number(device, DSM_TOTAL_DURATION),
                            number(device, DSM_TOTAL_BUSY_TIME));
    }
    return name + print("%7d %7d %8.1Lf %8.1Lf %5d %5d %5d %5d %4llu %3.0Lf ",
                        whole(DSM_TRANSFERS_PER_SECOND_READ), whole(DSM_TRANSFERS_PER_SECOND_WRITE),
                        number(device, DSM_MB_PER_SECOND_READ) * 1024,
                        number(device, DSM_MB_PER_SECOND_WRITE) * 1024,
                        whole(DSM_MS_PER_TRANSACTION_READ), whole(DSM_MS_PER_TRANSACTION_WRITE),
                        whole(DSM_MS_PER_TRANSACTION_OTHER), whole(DSM_MS_PER_TRANSACTION), queue,
                        number(device, DSM_BUSY_PCT));
}

bool is_shown(const Options& options, const Shown& device) {
    constexpr long double megabytes = .0005L / 1024;
    return !options.idle_hidden || number(device, DSM_TRANSFERS_PER_SECOND_READ) > 0.05L ||
           number(device, DSM_TRANSFERS_PER_SECOND_WRITE) > 0.05L ||
           number(device, DSM_MB_PER_SECOND_READ) > megabytes ||
           number(device, DSM_MB_PER_SECOND_WRITE) > megabytes ||
           number(device, DSM_BUSY_PCT) > 0.5L;
}

std::string extended_model(const Options& options, const std::vector<Shown>& devices,
                           const Machine& machine) {
    std::string text;
    if (options.cpu) text += "      cpu\n us ni sy in id\n" + cpu_text(machine) + "\n";
    text += "                        extended device statistics  ";
    if (options.tty) text += "      tty ";
    text += "\n";
    text += options.totals ? "device           r/i         w/i         kr/i"
                             "         kw/i qlen   tsvc_t/i      sb/i  "
                           : "device       r/s     w/s     kr/s     kw/s "
                             " ms/r  ms/w  ms/o  ms/t qlen  %b  ";
    if (options.tty) text += "tin  tout ";
    text += "\n";
    bool first = true;
    for (const Shown& device : devices) {
        if (!is_shown(options, device)) continue;
        text += extended_text(options, device);
        if (first && options.tty)
            text += print("%4.0f%5.0f", machine.characters_in, machine.characters_out);
        first = false;
        text += "\n";
    }
    if (!options.idle_hidden || !first || !(options.tty || options.cpu)) return text;
    text += print("%52s", "");
    if (options.tty) text += print("%4.0f %5.0f", machine.characters_in, machine.characters_out);
    if (options.cpu) text += cpu_text(machine);
    return text + "\n";
}

std::string model(const Options& options, const std::vector<Shown>& devices,
                  const Machine& machine) {
    if (options.extended) return extended_model(options, devices, machine);
    std::string text;
    if (options.tty) text += print("%4.0f %5.0f", machine.characters_in, machine.characters_out);
    for (const Shown& device : devices) text += short_text(options, device);
    if (options.cpu) text += cpu_text(machine);
    return text + "\n";
}

class FreebsdReportModel : public testing::Test {
  protected:
    uint64_t below(uint64_t n) { return random_() % n; }

    // Rates of the original are binary fractions here: the interval is a power of two.
    Shown device(int unit) {
        Shown shown;
        shown.name = (below(4) == 0 ? "longnamed" : "nbd") + std::to_string(unit);
        shown.elapsed_s = std::ldexp(1.0, static_cast<int>(below(4)) - 1);
        shown.before = Devstat{};
        Devstat& d = shown.now;
        d.block_size = below(3) == 0 ? 0 : below(2) == 0 ? 512 : 4096;
        d.start_count = static_cast<unsigned>(below(20));
        d.busy_time = devstat::bintime_of(
            static_cast<int64_t>(below(static_cast<uint64_t>(shown.elapsed_s * 1e9))));
        if (below(4) == 0) return shown;  // busy perhaps, but nothing has ended
        for (size_t kind = 0; kind < DEVSTAT_N_TRANS_FLAGS; ++kind) {
            d.operations[kind] = below(100);
            d.bytes[kind] = d.operations[kind] * below(600);
            d.duration[kind] =
                devstat::bintime_of(static_cast<int64_t>(d.operations[kind] * below(200'000'000)));
        }
        return shown;
    }

    Options options() {
        Options options;
        options.cpu = below(2) == 0;
        options.tty = below(2) == 0;
        options.totals = below(2) == 0;
        options.kilobytes = options.totals && below(2) == 0;  // rates are our own
        options.old_columns = below(2) == 0;
        options.extended = below(2) == 0;
        options.idle_hidden = below(2) == 0;
        return options;
    }

    std::mt19937_64 random_{20261123};
};

TEST_F(FreebsdReportModel, EveryReportIsTheOriginals) {
    for (int round = 0; round < computed_rounds(20'000); ++round) {
        const Options chosen = options();
        std::vector<Shown> devices;
        for (uint64_t n = below(4); n > 0; --n) devices.push_back(device(static_cast<int>(n)));
        const Machine machine{static_cast<double>(below(1000)),
                              static_cast<double>(below(10'000)),
                              {static_cast<double>(below(20)), 0, 5.5, 0.5, 80}};
        ASSERT_EQ(report(chosen, devices, machine), model(chosen, devices, machine)) << round;
    }
}

}  // namespace
}  // namespace blkscope::iostat::freebsd
