// How the columns become lines: whether they are padded or separated by commas, where the name
// stands, and where terminals and processors do.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/columns.hpp"

namespace blkscope::iostat {

constexpr size_t name_width_min = 6;
constexpr size_t name_width_max = 24;

/// A field of a comma-separated line; quoted if it has a comma in it, as partitions' names have.
[[nodiscard]] std::string csv_field(const std::string& text);

/// Whether terminals and processors have lines of their own in a vertical report, because names end
/// its lines, or because it has no columns.
[[nodiscard]] bool sides_apart(const Options& options);

/// The two header lines of a vertical report, for names `name_width` wide. Empty with -E alone,
/// which has no columns.
[[nodiscard]] std::string vertical_header(size_t name_width, const Options& options);

/// One device's line of a vertical report; that of the first one goes on with the processors.
[[nodiscard]] std::string vertical_line(const std::string& name, const Figures& figures,
                                        size_t name_width, const Options& options,
                                        const ProcessorFigures* processors = nullptr);

/// That line where the first device is not shown: its place is left empty.
[[nodiscard]] std::string vertical_line_without_device(size_t name_width, const Options& options,
                                                       const ProcessorFigures& processors);

/// The two header lines of a horizontal report. Without devices it is about the sides alone.
[[nodiscard]] std::string horizontal_header(const Snapshot& devices, const Options& options);

/// The line of a horizontal report; `figures` in the order of the devices.
[[nodiscard]] std::string horizontal_line(const std::vector<Figures>& figures,
                                          const Options& options,
                                          const ProcessorFigures& processors = {});

}  // namespace blkscope::iostat
