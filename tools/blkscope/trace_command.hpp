// blkscope trace: the recorded requests of a device, or of a saved file, in the format of a program.
//
//     ServerConnection ─▶ records ─▶ Trace ─▶ file of our own, blktrace, fio, Perfetto, CSV, JSON
//     a file ────────────────────────▶ Trace
//
// Threads: one; the command handles the signals that end it.
// Errors:  std::invalid_argument for bad input, of which the exit status is 2. std::runtime_error
//          or std::system_error otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace blkscope {

struct TraceCommand {
    std::string device;            // empty with `read`
    std::string from_now;          // as "10s"; empty: what is recorded already
    std::optional<uint64_t> last;  // requests; none: all
    std::string output;            // empty: standard output
    std::string format = "csv";
    std::string read;       // a file
    std::string of_device;  // of this device in the file; empty: it has one
};

void trace_requests(const TraceCommand& command);

}  // namespace blkscope
