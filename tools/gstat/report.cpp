#include "tools/gstat/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace blkscope::gstat {
namespace {

using freebsd::Figures;

// The metrics of one type of operation.
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

// The columns of a device. On the screen each has six characters after a blank. In CSV each has
// its own width after a comma.
class Columns {
  public:
    Columns(const Options& options, const char* separator, int width)
        : options_(options), separator_(separator), width_(width) {}

    [[nodiscard]] std::string of(const Figures& f) const {
        std::string text =
            count(f(DSM_TRANSFERS_PER_SECOND)) + kind(f, read_metrics) + kind(f, write_metrics);
        if (options_.deletes) text += kind(f, delete_metrics);
        if (options_.others) {  // without a size
            text += count(f(DSM_TRANSFERS_PER_SECOND_OTHER)) +
                    milliseconds(f(DSM_MS_PER_TRANSACTION_OTHER));
        }
        return text;
    }

  private:
    [[nodiscard]] std::string count(double value) const {
        return fmt::format("{}{:{}.0f}", separator_, value, width_);
    }

    // A whole number above 1000, else a number with one decimal.
    [[nodiscard]] std::string milliseconds(double value) const {
        return fmt::format("{}{:{}.{}f}", separator_, value, width_, value > 1000 ? 0 : 1);
    }

    [[nodiscard]] std::string kind(const Figures& f, const KindMetrics& metrics) const {
        constexpr double kb_per_mb = 1024;
        return count(f(metrics.per_second)) + (options_.sizes ? count(f(metrics.kb_each)) : "") +
               count(f(metrics.mb_per_second) * kb_per_mb) + milliseconds(f(metrics.ms_each));
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
    line.figures = fmt::format(" {:4}", f.count(DSM_QUEUE_LENGTH)) + Columns(options, " ", 6).of(f);
    line.busy_percent = f.busy_percent();
    line.busy = fmt::format(" {:6.1f}", line.busy_percent);
    line.name = std::string(consistent(device) ? " " : "*") + " " + device.name;
    return line;
}

// Calls `show` for every device that the options and the filter show.
template <class Show>
void for_each_shown(const Options& options, const Filter& filter, const Snapshot& before,
                    const Snapshot& now, Show show) {
    constexpr double active_percent = 0.1;
    for (const Device& device : now.devices) {
        if (options.physical_only && device.is_partition) continue;
        if (!filter.shows(device.name)) continue;
        const Device* const earlier = find(before, device);
        const Figures f(device.entry, earlier != nullptr ? &earlier->entry : nullptr,
                        seconds_covered(before, now, device));
        if (options.active_only && f.busy_percent() < active_percent) continue;
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
        text += fmt::format("{},{},{}{},{:.1f}\n", stamp(now.when), device.name,
                            f.count(DSM_QUEUE_LENGTH), columns.of(f), f.busy_percent());
    });
    return text;
}

}  // namespace blkscope::gstat
