// HistogramFile: the measured times in a file, for the model `empirical:FILE`.
//
//     iostat -j -L   an object a line, with histograms of each device: the times of service
//     fio json+      jobs with bins: the completion latencies; without them, the total latencies
//
// Lines around the JSON are left out. Of several reports of one run of fio (--status-interval) the
// last one counts, because each has all requests so far. "mixed" of fio is for "all".
//
// All reports and devices, or all jobs, of a file are added up. For "all" the times of reads and
// writes are added up.
//
// Units:     nanoseconds.
// Threads:   any.
// Errors:    std::invalid_argument with one line, if the file has no such histogram;
//            std::system_error if the file cannot be read.
// Source:    iostat(1); fio's stat.c, plat_idx_to_val().
#pragma once

#include <string>
#include <string_view>

#include "blockdev/model/distribution.hpp"

namespace blkscope {

/// The histogram of an operation of --model, or of "all", in the text of a file.
model::Histogram parse_histogram(const std::string& text, std::string_view operation);

/// The same of a file; the error names the file.
model::Histogram read_histogram(const std::string& file, std::string_view operation);

}  // namespace blkscope
