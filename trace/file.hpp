// The trace file of our own: a header, the requests in the order of their arrival, and an end.
//
//     0    magic (8 bytes)  byte order, version, header bytes, record bytes (four uint32)
//     24   requests, lost (two uint64)  realtime_ns (int64)
//     48   bytes of the properties, CRC-32 of the header without this field (two uint32)
//     56   properties: lines key=value, then zeroes up to a multiple of eight
//     ...  records: see record.hpp
//     ...  end (8 bytes), CRC-32 of the records, 0 (two uint32)
//
// All numbers are little-endian. Version 1 has shorter records, without cookies, and is read, too.
// Another version is refused. The magic shows a file that was changed as if it were text. The CRCs
// show all other damage.
//
// Ownership: borrows the bytes for the call.
// Threads:   any.
// Errors:    decode_file() returns one line that says what is wrong, and never a part of the trace.
// Source:    the magic follows the idea of PNG's, RFC 2083.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.hpp"
#include "trace/request.hpp"

namespace blkscope::trace {

inline constexpr uint32_t file_version = 2;

/// Whether a file may have these properties: without control characters, keys without '=', and all
/// together at most a MiB.
[[nodiscard]] bool may_have(const std::map<std::string, std::string>& properties);

/// The file. Sorts the requests by their arrival first. The file may have the trace's properties.
[[nodiscard]] std::string encode_file(Trace trace);

/// Whether the file begins as one of ours.
[[nodiscard]] bool is_our_file(std::span<const std::byte> file);

/// The trace of a whole file.
[[nodiscard]] Result<Trace, std::string> decode_file(std::span<const std::byte> file);

/// Sorts by arrival. Requests with the same arrival keep their order.
void sort_by_arrival(std::vector<Request>& requests);

}  // namespace blkscope::trace
