// What a report is about: two looks at the same things.
#pragma once

#include "tools/iostat/figures.hpp"
#include "tools/iostat/processors.hpp"

namespace blkscope::iostat {

/// Borrows the looks. What was before is null where the interval begins with each device's
/// creation and the system's start.
struct Interval {
    const Snapshot* devices_before;
    const Snapshot& devices;
    const Processors* processors_before;
    const Processors& processors;

    /// Of one of the `devices`.
    [[nodiscard]] Figures figures_of(const Device& device, const Options& options) const;

    /// What its histograms counted.
    [[nodiscard]] Histograms histograms_of(const Device& device) const;

    [[nodiscard]] ProcessorFigures figures_of_processors(const Options& options) const {
        return processor_figures(processors_before, processors, options);
    }
};

}  // namespace blkscope::iostat
