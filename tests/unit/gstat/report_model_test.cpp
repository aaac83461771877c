// gstat's lines against a slow model of the original, over random counters and every set of options. The model has
// the formulas of devstat(3) and gstat's own formats, for printf(3). Its filter is an extended regular expression
// of C++.
//
// No device is busy for longer than the interval: ours then shows 100.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <regex>

#include "devstat/entries/bintime.hpp"
#include "printed.hpp"
#include "rounds.hpp"
#include "tools/gstat/report.hpp"

namespace blkscope::gstat {
namespace {

constexpr hrtime_t ns_per_s = 1'000'000'000;

long double seconds(const bintime& time) {
    return static_cast<long double>(time.sec) + static_cast<long double>(time.frac) / 0x1p64L;
}

// One kind of transactions over the interval.
struct Kind {
    Kind(const Devstat& now, const Devstat& before, int kind, double elapsed_s) {
        const uint64_t count = now.operations[kind] - before.operations[kind];
        const auto operations = static_cast<long double>(count);
        const auto bytes = static_cast<long double>(now.bytes[kind] - before.bytes[kind]);
        const long double time = seconds(now.duration[kind]) - seconds(before.duration[kind]);
        const long double elapsed = elapsed_s;
        per_second = elapsed > 0 ? operations / elapsed : 0;
        kb_each = count > 0 ? bytes / 1024 / operations : 0;
        kb_per_second = elapsed > 0 ? bytes / 1024 / 1024 / elapsed * 1024 : 0;
        ms_each = count > 0 ? time * 1000 / operations : 0;
    }

    long double per_second, kb_each, kb_per_second, ms_each;
};

class Model {
  public:
    Model(const Options& options, const Snapshot& before, const Snapshot& now)
        : options_(options), before_(before), now_(now) {}

    [[nodiscard]] std::vector<std::string> lines(bool csv) const {
        std::vector<std::string> all;
        for (const Device& device : now_.devices) {
            const std::string line = csv ? csv_line(device) : screen_line(device);
            if (is_shown(device) && !line.empty()) all.push_back(line);
        }
        return all;
    }

  private:
    // The original divides what an older device counted in its life by the interval.
    [[nodiscard]] double elapsed_s(const Device& device) const {
        const bool is_known = std::ranges::any_of(before_.devices, [&](const Device& other) {
            return other.identity == device.identity;
        });
        const double interval = static_cast<double>(now_.uptime - before_.uptime) / 1e9;
        const auto life =
            static_cast<long double>(now_.uptime) / 1e9L - seconds(device.entry.creation_time);
        return is_known ? interval : std::max(interval, static_cast<double>(life));
    }

    [[nodiscard]] Devstat before_of(const Device& device) const {
        for (const Device& other : before_.devices) {
            if (other.identity == device.identity) return other.entry;
        }
        return {};
    }

    [[nodiscard]] Kind kind(const Device& device, int kind) const {
        return {device.entry, before_of(device), kind, elapsed_s(device)};
    }

    [[nodiscard]] double busy_percent(const Device& device) const {
        const long double busy =
            seconds(device.entry.busy_time) - seconds(before_of(device).busy_time);
        return static_cast<double>(busy / static_cast<long double>(elapsed_s(device)) * 100);
    }

    [[nodiscard]] bool is_shown(const Device& device) const {
        if (options_.physical_only && device.is_partition) return false;
        if (options_.active_only && busy_percent(device) < 0.1) return false;
        const std::regex filter(options_.filter, std::regex::extended);
        return options_.filter.empty() || std::regex_search(device.name, filter);
    }

    // The numbers between the length of the queue and %busy; the second of each pair is a time in ms.
    [[nodiscard]] std::vector<std::pair<double, bool>> columns(const Device& device) const {
        uint64_t operations = 0;
        const Devstat before = before_of(device);
        for (int k = 0; k < DEVSTAT_N_TRANS_FLAGS; ++k) {
            operations += device.entry.operations[k] - before.operations[k];
        }
        const auto per_second =
            static_cast<long double>(operations) / static_cast<long double>(elapsed_s(device));
        std::vector<std::pair<double, bool>> all{{static_cast<double>(per_second), false}};
        const auto add = [&](long double number, bool is_time) {
            all.emplace_back(static_cast<double>(number), is_time);
        };
        for (const int k : {DEVSTAT_READ, DEVSTAT_WRITE, DEVSTAT_FREE}) {
            if (k == DEVSTAT_FREE && !options_.deletes) continue;
            const Kind one = kind(device, k);
            add(one.per_second, false);
            if (options_.sizes) add(one.kb_each, false);
            add(one.kb_per_second, false);
            add(one.ms_each, true);
        }
        if (options_.others) {
            const Kind other = kind(device, DEVSTAT_NO_DATA);
            add(other.per_second, false);
            add(other.ms_each, true);
        }
        return all;
    }

    [[nodiscard]] std::string screen_line(const Device& device) const {
        const Devstat& d = device.entry;
        std::string line = print(" %4u", d.start_count - d.end_count);
        for (const auto& [number, is_time] : columns(device)) {
            line += is_time && number <= 1000 ? print(" %6.1f", number) : print(" %6.0f", number);
        }
        line += print(" %6.1f", busy_percent(device));
        return line + (d.sequence0 == d.sequence1 ? "  " : "* ") + device.name;
    }

    [[nodiscard]] std::string csv_line(const Device& device) const {
        const Devstat& d = device.entry;
        if (d.sequence0 != d.sequence1) return "";
        char stamp[64];
        strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", gmtime(&now_.when.tv_sec));
        std::string line = print("%s.%09ld,%s,%u", stamp, now_.when.tv_nsec, device.name.c_str(),
                                 d.start_count - d.end_count);
        for (const auto& [number, is_time] : columns(device)) {
            line += is_time && number <= 1000 ? print(",%.1f", number) : print(",%.0f", number);
        }
        return line + print(",%.1f", busy_percent(device));
    }

    const Options& options_;
    const Snapshot& before_;
    const Snapshot& now_;
};

class GstatReportModel : public testing::Test {
  protected:
    GstatReportModel() {
        setenv("TZ", "UTC", 1);
        tzset();
    }

    uint64_t below(uint64_t bound) {
        return std::uniform_int_distribution<uint64_t>(0, bound - 1)(random_);
    }

    // Small numbers are as frequent as large ones.
    uint64_t up_to_bits(uint64_t bits) { return below(uint64_t{1} << below(bits + 1)); }

    bintime duration(hrtime_t ns_max) {
        const auto ns = static_cast<hrtime_t>(below(static_cast<uint64_t>(ns_max) + 1));
        return {ns / ns_per_s, static_cast<uint64_t>(ns % ns_per_s) * (UINT64_MAX / ns_per_s)};
    }

    static void add(bintime& sum, const bintime& more) {
        const uint64_t frac = sum.frac + more.frac;
        sum.sec += more.sec + (frac < sum.frac ? 1 : 0);
        sum.frac = frac;
    }

    void work(Devstat& d, hrtime_t ns) {
        for (int k = 0; k < DEVSTAT_N_TRANS_FLAGS; ++k) {
            if (below(4) == 0) continue;
            const uint64_t operations = up_to_bits(24);
            d.operations[k] += operations;
            d.bytes[k] += up_to_bits(50);
            if (below(6) == 0) {  // about a second each, where the format changes
                add(d.duration[k], {static_cast<time_t>(operations), up_to_bits(63)});
            } else {
                add(d.duration[k], duration(static_cast<hrtime_t>(up_to_bits(45))));
            }
        }
        if (below(4) != 0) add(d.busy_time, duration(below(2) == 0 ? ns : ns / 500));
        d.end_count = static_cast<uint32_t>(up_to_bits(32));
        d.start_count = d.end_count + static_cast<uint32_t>(up_to_bits(20));
        d.sequence0 = d.sequence1 = static_cast<uint32_t>(up_to_bits(32));
        if (below(6) == 0) ++d.sequence1;
    }

    void take_snapshots() {
        before_ = {};
        now_ = {};
        const auto ns = static_cast<hrtime_t>(1'000'000 + up_to_bits(40));
        before_.uptime = static_cast<hrtime_t>(up_to_bits(50));
        now_.uptime = before_.uptime + ns;
        now_.when = {static_cast<time_t>(below(4'000'000'000)), static_cast<long>(below(ns_per_s))};
        constexpr std::array names{"vbd0", "vbd1", "vbd10", "vbd0,1", "lo.a+b", "linux"};
        for (size_t i = 0; i < names.size(); ++i) {
            if (below(4) == 0) continue;
            const bool is_partition = std::string(names[i]).find(',') != std::string::npos;
            Device device{static_cast<int>(i), names[i], is_partition, {}};
            if (below(4) != 0) {
                work(device.entry, ns);
                before_.devices.push_back(device);
            }
            const hrtime_t created = below(2) == 0 ? before_.uptime / 2 : before_.uptime + ns / 2;
            device.entry.creation_time = devstat::bintime_of(created);
            if (below(4) != 0) work(device.entry, ns);
            now_.devices.push_back(device);
        }
    }

    Options options() {
        constexpr std::array filters{"",       "",         "vbd",   "^vbd[0-9]$", "0$",
                                     "vbd1?0", "(lo|10)+", "o\\.a", "a\\+b$",     "nothing"};
        Options options;
        for (bool Options::*flag : {&Options::active_only, &Options::deletes, &Options::others,
                                    &Options::physical_only, &Options::sizes}) {
            options.*flag = below(2) == 0;
        }
        options.filter = filters[below(filters.size())];
        return options;
    }

    Snapshot before_;
    Snapshot now_;

  private:
    std::mt19937_64 random_{20261123};
};

TEST_F(GstatReportModel, EveryLineIsTheOriginals) {
    size_t shown = 0;
    for (int round = 0; round < computed_rounds(3'000); ++round) {
        take_snapshots();
        const Options chosen = options();
        const Filter filter(chosen.filter);
        const Model model(chosen, before_, now_);
        std::vector<std::string> texts;
        for (const Line& line : lines(chosen, filter, before_, now_)) texts.push_back(line.text());
        ASSERT_EQ(texts, model.lines(false)) << "round " << round;
        std::string csv;
        for (const std::string& line : model.lines(true)) csv += line + "\n";
        ASSERT_EQ(csv_lines(chosen, filter, before_, now_), csv) << "round " << round;
        shown += texts.size();
    }
    EXPECT_GT(shown, static_cast<size_t>(computed_rounds(3'000)) / 3);
}

}  // namespace
}  // namespace blkscope::gstat
