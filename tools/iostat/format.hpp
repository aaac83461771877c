// Makes lines of the columns. Columns are padded or separated by commas. The name, the terminals
// and the processors have several possible places.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/columns.hpp"

namespace blkscope::iostat {

constexpr size_t name_width_min = 6;
constexpr size_t name_width_max = 24;

/// A field of a comma-separated line. A text with a comma, such as a partition's name, is quoted.
[[nodiscard]] std::string csv_field(const std::string& text);

/// Whether terminals and processors have lines of their own in a vertical report. True if names
/// end its lines, or if the report has no columns.
[[nodiscard]] bool sides_apart(const Options& options);

/// The two header lines of a vertical report, for names `name_width` wide. With -E alone the result
/// is empty, because there are no columns.
[[nodiscard]] std::string vertical_header(size_t name_width, const Options& options);

/// One device's line of a vertical report. With `processors`, their columns follow on the line.
[[nodiscard]] std::string vertical_line(const std::string& name, const Figures& figures,
                                        size_t name_width, const Options& options,
                                        const ProcessorFigures* processors = nullptr);

/// The first line if the first device is not shown: the device's part is blank.
[[nodiscard]] std::string vertical_line_without_device(size_t name_width, const Options& options,
                                                       const ProcessorFigures& processors);

/// The two header lines of a horizontal report. Without devices they have only the sides.
[[nodiscard]] std::string horizontal_header(const Snapshot& devices, const Options& options);

/// The line of a horizontal report; `figures` are in the order of the devices.
[[nodiscard]] std::string horizontal_line(const std::vector<Figures>& figures,
                                          const Options& options,
                                          const ProcessorFigures& processors = {});

}  // namespace blkscope::iostat
