// A run as one HTML file: the page of one device for each device, with the data inside as JSON.
//
// Units:     the names of the members have them. Ownership: nothing is kept. Threads: any. Errors: none.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/check/judge.hpp"
#include "tools/report/recording.hpp"

namespace blkscope::report {

struct Run {
    std::vector<std::string> command = {};  // empty: none
    std::time_t began = 0;
    double seconds = 0;
    int status = 0;
    std::vector<std::string> gaps = {};  // what could not be read; with a condition, a failure
    std::vector<check::Finding> findings = {};  // one for each condition and device
    std::vector<std::string> late = {};  // a line for each server that was noticeably late itself
};

/// What became of a run. The page, the text, the data and the exit status all say this.
struct Outcome {
    bool is_failed = false;  // by a condition, or by the command's own status
    std::string headline;    // "FAILED: ...", "PASSED: ..."; without conditions "ended well"
    std::vector<std::string> lines = {};  // behind the headline; those that fail come first
};

/// A failed condition is told with what was seen and by how much that is beyond the bound.
[[nodiscard]] Outcome outcome_of(const Run& run);

/// A line for each device of the run whose server was noticeably late, or shows so in a finding.
[[nodiscard]] std::vector<std::string> late_servers(const Recording& recording,
                                                    const std::vector<check::Finding>& findings);

/// The data, schema blkscope.report/1.
[[nodiscard]] std::string json_document(const Run& run, const Recording& recording);

/// The file, with this data.
[[nodiscard]] std::string html_document(const std::string& data);

/// One of the files of the page, with data inside.
[[nodiscard]] std::string html_file(const char* page, const std::string& data);

}  // namespace blkscope::report
