#include "tools/gstat/report.hpp"

#include <devstat.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace blkscope::gstat {
namespace {

// One kind of operations over the interval.
struct KindFigures {
    double per_second = 0;
    double kb_each = 0;
    double kb_per_second = 0;
    double ms_each = 0;
};

struct Figures {
    uint64_t queue_length = 0;
    double operations = 0;
    KindFigures reads;
    KindFigures writes;
    KindFigures deletes;
    KindFigures others;  // which have no size
    double busy_percent = 0;
};

// The metrics of one kind; DSM_SKIP where it has none.
struct KindMetrics {
    devstat_metric per_second;
    devstat_metric kb_each;
    devstat_metric mb_per_second;
    devstat_metric ms_each;
};

constexpr KindMetrics read_metrics{DSM_TRANSFERS_PER_SECOND_READ, DSM_KB_PER_TRANSFER_READ,
                                   DSM_MB_PER_SECOND_READ, DSM_MS_PER_TRANSACTION_READ};
constexpr KindMetrics write_metrics{DSM_TRANSFERS_PER_SECOND_WRITE, DSM_KB_PER_TRANSFER_WRITE,
                                    DSM_MB_PER_SECOND_WRITE, DSM_MS_PER_TRANSACTION_WRITE};
constexpr KindMetrics delete_metrics{DSM_TRANSFERS_PER_SECOND_FREE, DSM_KB_PER_TRANSFER_FREE,
                                     DSM_MB_PER_SECOND_FREE, DSM_MS_PER_TRANSACTION_FREE};
constexpr KindMetrics other_metrics{DSM_TRANSFERS_PER_SECOND_OTHER, DSM_SKIP, DSM_SKIP,
                                    DSM_MS_PER_TRANSACTION_OTHER};

// Two copies of an entry, and the time between them.
class Pair {
  public:
    Pair(const Device& now, const Device* before, double elapsed_s)
        : now_(now.entry),
          before_(before != nullptr ? before->entry : Devstat{}),
          elapsed_s_(elapsed_s) {}

    [[nodiscard]] double measure(devstat_metric metric) {
        long double value = 0;
        compute(metric, &value);
        return static_cast<double>(value);
    }

    [[nodiscard]] uint64_t count(devstat_metric metric) {
        uint64_t value = 0;
        compute(metric, &value);
        return value;
    }

    [[nodiscard]] KindFigures kind(const KindMetrics& metrics) {
        constexpr double kb_per_mb = 1024;
        return {measure(metrics.per_second), measure(metrics.kb_each),
                measure(metrics.mb_per_second) * kb_per_mb, measure(metrics.ms_each)};
    }

  private:
    void compute(devstat_metric metric, void* value) {
        [[maybe_unused]] const int result =
            devstat_compute_statistics(&now_, &before_, elapsed_s_, metric, value, DSM_NONE);
        assert(result == 0);
    }

    Devstat now_;
    Devstat before_;
    long double elapsed_s_;
};

Figures figures_of(const Device& device, const Device* before, double elapsed_s) {
    Pair pair(device, before, elapsed_s);
    Figures f;
    f.queue_length = pair.count(DSM_QUEUE_LENGTH);
    f.operations = pair.measure(DSM_TRANSFERS_PER_SECOND);
    f.reads = pair.kind(read_metrics);
    f.writes = pair.kind(write_metrics);
    f.deletes = pair.kind(delete_metrics);
    f.others = pair.kind(other_metrics);
    // The two snapshots and the two clocks do not fall on one moment: more than all is all.
    if (elapsed_s > 0) f.busy_percent = std::min(pair.measure(DSM_BUSY_PCT), 100.0);
    return f;
}

// A whole number above 1000, else with a decimal.
std::string milliseconds(double value, const char* separator, int width) {
    return fmt::format("{}{:{}.{}f}", separator, value, width, value > 1000 ? 0 : 1);
}

// Columns of six characters behind a blank, or as wide as they are behind a comma.
class Columns {
  public:
    Columns(const Options& options, const char* separator, int width)
        : options_(options), separator_(separator), width_(width) {}

    [[nodiscard]] std::string of(const Figures& f) const {
        std::string text = count(f.operations) + kind(f.reads) + kind(f.writes);
        if (options_.deletes) text += kind(f.deletes);
        if (options_.others) {
            text += count(f.others.per_second) + milliseconds(f.others.ms_each, separator_, width_);
        }
        return text;
    }

  private:
    [[nodiscard]] std::string count(double value) const {
        return fmt::format("{}{:{}.0f}", separator_, value, width_);
    }

    [[nodiscard]] std::string kind(const KindFigures& kind) const {
        return count(kind.per_second) + (options_.sizes ? count(kind.kb_each) : "") +
               count(kind.kb_per_second) + milliseconds(kind.ms_each, separator_, width_);
    }

    const Options& options_;
    const char* separator_;
    int width_;
};

bool consistent(const Device& device) {
    return device.entry.sequence0 == device.entry.sequence1;
}

Line line_of(const Options& options, const Device& device, const Figures& f) {
    Line line;
    line.figures = fmt::format(" {:4}", f.queue_length) + Columns(options, " ", 6).of(f);
    line.busy = fmt::format(" {:6.1f}", f.busy_percent);
    line.name = std::string(consistent(device) ? " " : "*") + " " + device.name;
    line.busy_percent = f.busy_percent;
    return line;
}

// Calls `show` for every device that is to be seen.
template <class Show>
void for_each_shown(const Options& options, const Filter& filter, const Snapshot& before,
                    const Snapshot& now, Show show) {
    constexpr double active_percent = 0.1;
    for (const Device& device : now.devices) {
        if (options.physical_only && device.is_partition) continue;
        if (!filter.shows(device.name)) continue;
        const Figures f = figures_of(device, find(before, device), seconds_between(before, now));
        if (options.active_only && f.busy_percent < active_percent) continue;
        show(device, f);
    }
}

std::string stamp(const timespec& when) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:09}", fmt::localtime(when.tv_sec), when.tv_nsec);
}

}  // namespace

std::string first_line(const Options& options, double elapsed_s) {
    const double wanted_s = std::chrono::duration<double>(options.interval).count();
    std::string text = fmt::format("dT: {:5.3f}s  w: {:.3f}s", elapsed_s, wanted_s);
    if (!options.filter.empty()) text += "  filter: " + options.filter;
    return text;
}

std::string header(const Options& options) {
    const std::string size = options.sizes ? "     kB" : "";
    const auto kind = [&](char letter) {
        return fmt::format(" {0}/s{1}   kBps   ms/{0}   ", letter, size);
    };
    std::string text = " L(q)  ops/s   " + kind('r') + kind('w');
    if (options.deletes) text += kind('d');
    if (options.others) text += " o/s   ms/o   ";
    return text + "%busy Name";
}

std::vector<Line> lines(const Options& options, const Filter& filter, const Snapshot& before,
                        const Snapshot& now) {
    std::vector<Line> all;
    for_each_shown(options, filter, before, now, [&](const Device& device, const Figures& f) {
        all.push_back(line_of(options, device, f));
    });
    return all;
}

std::string csv_header(const Options& options) {
    const auto size = [&](const char* name) { return options.sizes ? name : ""; };
    std::string text = "timestamp,name,q-depth,total_ops/s,read/s";
    text += std::string(size(",read_sz-KiB")) + ",read-KiB/s,ms/read,write/s";
    text += std::string(size(",write_sz-KiB")) + ",write-KiB/s,ms/write";
    if (options.deletes) {
        text += std::string(",delete/s") + size(",delete-sz-KiB") + ",delete-KiB/s,ms/delete";
    }
    if (options.others) text += ",other/s,ms/other";
    return text + ",%busy\n";
}

std::string csv_lines(const Options& options, const Filter& filter, const Snapshot& before,
                      const Snapshot& now) {
    std::string text;
    const Columns columns(options, ",", 0);
    for_each_shown(options, filter, before, now, [&](const Device& device, const Figures& f) {
        if (!consistent(device)) return;
        text += fmt::format("{},{},{}{},{:.1f}\n", stamp(now.when), device.name, f.queue_length,
                            columns.of(f), f.busy_percent);
    });
    return text;
}

}  // namespace blkscope::gstat
