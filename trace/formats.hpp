// Formats: a trace for the programs of others. Each function sorts nothing: the trace is in the
// order of arrival.
//
// Units:     as each format has them.
// Ownership: borrows the trace for the call.
// Threads:   any.
// Errors:    the functions for fio return one line if fio could not replay the trace.
// Source:    blktrace_api.h of Linux; fio(1), "Trace file format v2" and v3; the Trace Event Format.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.hpp"
#include "trace/request.hpp"

namespace blkscope::trace {

/// Why a trace cannot be had in a format, in one line.
struct Refusal {
    std::string why;
};

/// blktrace, version 7: for each worker the content of a file NAME.blktrace.WORKER. btt's I2D is
/// the wait of a request, and D2C its service. The programs of others have no cache or block_status
/// operations, so these are left out.
[[nodiscard]] std::map<uint16_t, std::string> to_blktrace(const Trace& trace);

/// fio's log, version 2: waits in whole milliseconds. The flag FUA is lost.
[[nodiscard]] std::string to_fio2(const Trace& trace);
/// Version 3: microseconds. Refuses trims, which fio before 3.34 drops.
[[nodiscard]] Result<std::string, Refusal> to_fio3(const Trace& trace);

/// An array of events for ui.perfetto.dev and chrome://tracing. Each stage of a request is a pair of
/// events, by the device and the client. Stages whose common moment is unknown are one pair, as
/// "wait+service". A request of which one moment is known is an instant.
[[nodiscard]] std::string to_perfetto(const Trace& trace);

/// A line for each request, below a line of names.
[[nodiscard]] std::string to_csv(const Trace& trace);
/// JSON Lines: an object about the trace, then one for each request.
[[nodiscard]] std::string to_json(const Trace& trace);

}  // namespace blkscope::trace
