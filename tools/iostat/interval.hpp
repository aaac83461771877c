// The subject of a report: two looks at the same devices and processors.
#pragma once

#include "tools/iostat/figures.hpp"
#include "tools/iostat/processors.hpp"

namespace blkscope::iostat {

/// Borrows the looks. The earlier looks are null if the interval begins with each device's creation
/// and the system's start.
struct Interval {
    const Snapshot* devices_before;
    const Snapshot& devices;
    const Processors* processors_before;
    const Processors& processors;

    /// The figures of one of the `devices`.
    [[nodiscard]] Figures figures_of(const Device& device, const Options& options) const;

    /// The requests of the interval in the device's histograms.
    [[nodiscard]] Histograms histograms_of(const Device& device) const;

    /// The earlier look at one of the `devices`; null if there is none.
    [[nodiscard]] const Device* before(const Device& device) const;

    [[nodiscard]] ProcessorFigures figures_of_processors(const Options& options) const {
        return processor_figures(processors_before, processors, options);
    }
};

}  // namespace blkscope::iostat
