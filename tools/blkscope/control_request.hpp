// ControlRequest: a change of a running server, as a line of JSON from the command to the server.
//
//     blkscope set nbd0 model=exp:1ms
//         │ text_of
//         ▼
//     {"command":"set","device":"nbd0","model":"exp:1ms"} ── parse_request ──▶ server
//
// The command reads FILEs and sends their histograms. The server opens no path that a client names.
//
// Units:     nanoseconds in histograms.
// Ownership: values.
// Threads:   any.
// Errors:    std::invalid_argument with one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blockdev/model/distribution.hpp"

namespace blkscope {

/// The histogram of a FILE for an operation of the grammar.
struct SentHistogram {
    std::string file;
    std::string operation;
    model::Histogram histogram;
};

struct ControlRequest {
    enum class Command : uint8_t {
        set,
        fault_add,
        fault_list,
        fault_clear,
        clear_error,
        crash,
        clients,
        trace,
        slow
    };

    Command command = Command::set;
    std::string device = {};                // nbd0
    bool all = false;                       // of crash: every export, and no device
    std::optional<std::string> model = {};  // of set; "none" removes it
    std::optional<std::string> limit = {};  // likewise
    std::optional<std::string> client_limit = {};
    std::optional<unsigned> queue_depth = {};
    std::optional<std::string> order = {};  // "arrival" or "fair"
    std::string rule = {};                  // of fault_add
    std::optional<uint32_t> id = {};        // of fault_clear; none: all
    std::vector<SentHistogram> histograms = {};
    // Of trace: the next record of each worker. Without it the answer says where they are now.
    std::optional<std::vector<uint64_t>> from = {};
    std::optional<uint64_t> over_ns = {};   // of slow
    std::optional<uint64_t> since_ns = {};  // of slow: only requests that have ended since
};

/// The line of a request, without its end.
std::string text_of(const ControlRequest& request);
/// The request of a line, checked as a whole, apart from the grammars of models, limits and faults.
ControlRequest parse_request(std::string_view line);

}  // namespace blkscope
