// The figures of a device over an interval: libdevstat's metrics of two copies of its entry.
#pragma once

#include <devstat.h>

#include <cstdint>

namespace blkscope::freebsd {

using Devstat = struct ::devstat;

class Figures {
  public:
    /// Without `before` the interval begins with the device's creation. If no time has passed, all
    /// rates are 0.
    Figures(const Devstat& now, const Devstat* before, double elapsed_s)
        : now_(now), before_(before != nullptr ? *before : Devstat{}), elapsed_s_(elapsed_s) {}

    /// A metric that is a number with a fraction: a rate, a mean, a time, a share.
    [[nodiscard]] double operator()(devstat_metric metric) const;

    /// A metric that is a count.
    [[nodiscard]] uint64_t count(devstat_metric metric) const;

    [[nodiscard]] double kilobytes(devstat_metric metric) const {
        return static_cast<double>(count(metric)) / 1024;
    }

    [[nodiscard]] double megabytes(devstat_metric metric) const { return kilobytes(metric) / 1024; }

    /// At most 100. The clock and the entry are read one after the other, so the busy time may
    /// exceed the elapsed time.
    [[nodiscard]] double busy_percent() const;

    [[nodiscard]] double elapsed_s() const { return elapsed_s_; }

  private:
    void compute(devstat_metric metric, void* value) const;

    Devstat now_;
    Devstat before_;
    double elapsed_s_;
};

}  // namespace blkscope::freebsd
