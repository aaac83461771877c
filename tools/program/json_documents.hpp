// The documents of JSON in a text that other lines may surround.
//
//     fio: terminating on signal 2          left out
//     {"jobs": ...}                         a document
//     {                                     a document of several lines
//       "jobs": ... }
//
// A document is an object or an array that begins a line.
//
// Ownership: each document borrows the text.
// Threads:   any; pure functions.
// Errors:    std::invalid_argument with one line, which has the number of the line in the whole text.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace blkscope::program {

struct JsonDocument {
    std::string_view text;
    size_t line = 1;  // its first one
};

/// Refuses a text that has none, one that is not UTF-8 by its first bytes, and a document without an end.
[[nodiscard]] std::vector<JsonDocument> json_documents(std::string_view text);

[[nodiscard]] nlohmann::json parse_document(const JsonDocument& document);

}  // namespace blkscope::program
