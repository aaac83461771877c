// Kept: what a format for another program keeps of a trace, and what it does not.
//
// Units:     bytes.
// Ownership: values.
// Threads:   any; pure functions.
// Errors:    none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/request.hpp"

namespace blkscope::trace {

/// A longer request is several in fio's logs and in blktrace's events, because both have 32 bits for the
/// length, and fio has the bytes in memory.
inline constexpr uint64_t piece_bytes_max = uint64_t{1} << 30;

/// Calls `take` with each piece of a request that the other programs can have.
template <class Take>
void for_each_piece(const Request& request, Take take) {
    Request piece = request;
    uint64_t left = request.bytes;
    do {
        piece.bytes = std::min(left, piece_bytes_max);
        take(piece);
        piece.offset += piece.bytes;
        left -= piece.bytes;
    } while (left > 0);
}

/// Whether fio and blktrace can have the request: they have no cache or block_status, and fio has no
/// offset of 2^63 or more.
[[nodiscard]] bool is_kept_by_fio(const Request& request);
[[nodiscard]] bool is_kept_by_blktrace(const Request& request);

struct Kept {
    size_t requests = 0;             // of the trace
    std::vector<std::string> lines;  // what is lost or changed, with its count
};
/// `format` is that of blkscope trace: fio, fio3, blktrace, or one that keeps all.
[[nodiscard]] Kept kept_by(std::string_view format, const Trace& trace);

}  // namespace blkscope::trace
