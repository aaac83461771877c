// Record: a request as bytes, the same on every machine.
//
//     0    received, queued, started, finished, replied    five int64
//     40   drawn_ns, offset, bytes                         three uint64
//     64   device, client, depth                           three uint32
//     76   worker, error                                   two uint16
//     80   op, flags, six zero bytes
//     88   cookie, upstream_cookie                         two uint64
//
// All numbers are little-endian. A stamp of 0 is unknown.
//
// Ownership: borrows for the call.
// Threads:   any.
// Errors:    decode() returns one line that says what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"
#include "trace/request.hpp"

namespace blkscope::trace {

inline constexpr size_t record_bytes = 104;
/// Of version 1, which has no cookies.
inline constexpr size_t record_bytes_1 = 88;

/// Little-endian numbers of `T`'s size.
template <class T>
void put(std::byte* to, T number) {
    for (size_t i = 0; i < sizeof number; ++i) {
        to[i] = static_cast<std::byte>(static_cast<uint64_t>(number) >> (8 * i));
    }
}
template <class T>
[[nodiscard]] T get(const std::byte* from) {
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
        number |= static_cast<uint64_t>(std::to_integer<uint8_t>(from[i])) << (8 * i);
    }
    return static_cast<T>(number);
}

void encode(const Request& request, std::span<std::byte, record_bytes> to);

/// Refuses an unknown operation or flag, known stamps that run backwards, a request whose arrival is
/// unknown, and bytes that are not 0.
[[nodiscard]] Result<Request, std::string> decode(std::span<const std::byte, record_bytes> from);

/// Why decode() would refuse the request; empty if it would not.
[[nodiscard]] std::string why_impossible(const Request& request);

}  // namespace blkscope::trace
