// The summary of a run: each device's averages, and its smallest and largest interval values.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/iostat/figures.hpp"

namespace blkscope::iostat {

/// A figure of the summary, in the order of the columns.
struct SummaryColumn {
    std::string_view heading;
    std::string_view json_key;
    double Figures::*value;
    double Figures::*queue;  // for a time per request, its mean queue length; else null
    int width;
    int precision;
};

constexpr std::array summary_columns{
    SummaryColumn{"r/s+w/s", "transfers_per_s", &Figures::transfers, nullptr, 8, 1},
    SummaryColumn{"wait", "wait", &Figures::wait, nullptr, 6, 1},
    SummaryColumn{"actv", "actv", &Figures::actv, nullptr, 6, 1},
    SummaryColumn{"wsvc_t", "wsvc_t_ms", &Figures::wsvc_t, &Figures::wait, 8, 1},
    SummaryColumn{"asvc_t", "asvc_t_ms", &Figures::asvc_t, &Figures::actv, 8, 1},
    SummaryColumn{"%b", "b_pct", &Figures::b_percent, nullptr, 4, 0},
};

/// One column over the intervals of a run. A time per request has no meaning in an interval without
/// a completed request. The least and the most exclude such an interval.
struct Spread {
    double average = 0;
    double least = 0;
    double most = 0;
    bool any = false;   // if false, the other members have no meaning
    double total = 0;   // the average's parts
    double weight = 0;  // seconds, or requests

    void add(double part, double by);
    void add_value(double value);
};

struct DeviceSummary {
    std::string name;
    double elapsed_s = 0;
    std::array<Spread, summary_columns.size()> columns = {};

    /// Adds an interval.
    void add(const Figures& f);
};

/// Adds up the looks of a run. Time before the run does not count, so the report since the creation
/// is excluded. Requests before a device was first seen are excluded too, unless the device was
/// created during the run.
class Summary {
  public:
    void add(const Snapshot& devices);

    /// The devices in the order in which they were first seen. Devices without data are excluded.
    [[nodiscard]] std::vector<DeviceSummary> devices() const;

    /// The number of intervals between the looks.
    [[nodiscard]] int intervals() const { return looks_ > 0 ? looks_ - 1 : 0; }

  private:
    struct Known {
        Device last;
        DeviceSummary summary;
    };

    std::vector<Known> known_;
    std::optional<hrtime_t> began_;
    int looks_ = 0;
};

/// The lines that end a run with -S; comma-separated with -r.
[[nodiscard]] std::string summary_text(const Summary& summary, const Options& options);

}  // namespace blkscope::iostat
