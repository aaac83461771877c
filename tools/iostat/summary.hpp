// The whole run in a few lines: what each device did on average, and its best and worst interval.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/iostat/figures.hpp"

namespace blkscope::iostat {

/// What is summed up, in the order of the columns.
struct SummaryColumn {
    std::string_view heading;
    std::string_view json_key;
    double Figures::*value;
    double Figures::*queue;  // of a time per request, the mean length that it comes from; else null
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

/// One column over the intervals of a run. A time per request means nothing in an interval that
/// completed none, so the least and the most leave that one out.
struct Spread {
    double average = 0;
    double least = 0;
    double most = 0;
    bool any = false;  // else the others mean nothing
};

struct DeviceSummary {
    std::string name;
    double elapsed_s = 0;
    std::array<Spread, summary_columns.size()> columns;
};

/// Takes in a run's looks one after another. What was before the run is not part of it: neither is
/// the report since the creation, nor what a device did before it was first seen, unless it was
/// created meanwhile.
class Summary {
  public:
    void add(const Snapshot& devices);

    /// In the order in which the devices were first seen, without those of which there is nothing
    /// to say.
    [[nodiscard]] std::vector<DeviceSummary> devices() const;

    /// How many intervals there were between the looks.
    [[nodiscard]] int intervals() const { return looks_ > 0 ? looks_ - 1 : 0; }

  private:
    struct Sum {
        double total = 0;
        double weight = 0;  // seconds, or requests
        double least = 0;
        double most = 0;
        bool any = false;

        void add(double part, double by);
        void add_value(double value);
    };

    struct Known {
        Device last;
        double elapsed_s = 0;
        std::array<Sum, summary_columns.size()> sums;

        void add(const Figures& f);
    };

    std::vector<Known> known_;
    std::optional<hrtime_t> began_;
    int looks_ = 0;
};

/// The lines that end a run with -S; with -r, comma-separated.
[[nodiscard]] std::string summary_text(const Summary& summary, const Options& options);

}  // namespace blkscope::iostat
