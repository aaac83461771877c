// A run as one HTML file: the page of one device for each device, with the data inside as JSON.
//
// Units:     the names of the members have them. Ownership: nothing is kept. Threads: any. Errors: none.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/report/recording.hpp"

namespace blkscope::report {

struct Run {
    std::vector<std::string> command;  // empty: none
    std::time_t began = 0;
    double seconds = 0;
    int status = 0;
    std::vector<std::string> findings = {};  // a line for each condition and device
};

/// The data, schema blkscope.report/1.
[[nodiscard]] std::string json_document(const Run& run, const Recording& recording);

/// The file, with this data.
[[nodiscard]] std::string html_document(const std::string& data);

/// One of the files of the page, with data inside.
[[nodiscard]] std::string html_file(const char* page, const std::string& data);

}  // namespace blkscope::report
