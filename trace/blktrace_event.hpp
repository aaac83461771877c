// An event of blktrace, version 7, and the numbers in it.
//
// Units:     nanoseconds, sectors of 512 bytes, bytes.
// Ownership: a value. Threads: any.
// Errors:    none.
// Source:    blktrace_api.h of Linux.
#pragma once

#include <cstdint>
#include <optional>

namespace blkscope::trace {

/// struct blk_io_trace, in the byte order of the machine, which blkparse finds out. A text of
/// `pdu_bytes` follows.
struct BlktraceEvent {
    uint32_t magic;
    uint32_t sequence;
    uint64_t time;
    uint64_t sector;
    uint32_t bytes;
    uint32_t action;
    uint32_t pid;
    uint32_t device;
    uint32_t cpu;
    uint16_t error;
    uint16_t pdu_bytes;
};
static_assert(sizeof(BlktraceEvent) == 48);

namespace blktrace {

inline constexpr uint32_t magic = 0x65617407;
inline constexpr uint32_t magic_swapped = 0x07746165;
inline constexpr uint32_t sector_bytes = 512;

/// The version of an event that begins with this magic, in either byte order, if it is not ours.
constexpr std::optional<uint32_t> other_version(uint32_t first) {
    for (const uint32_t ordered : {first, __builtin_bswap32(first)}) {
        const uint32_t version = ordered & 0xff;
        if (ordered >> 8 == magic >> 8 && version != (magic & 0xff)) return version;
    }
    return {};
}

/// The category of an event, above its code.
constexpr uint32_t category(unsigned bit) {
    return uint32_t{1} << (bit + 16);
}
inline constexpr uint32_t read_bit = category(0);
inline constexpr uint32_t write_bit = category(1);
inline constexpr uint32_t flush_bit = category(2);
inline constexpr uint32_t queue_bit = category(4);
inline constexpr uint32_t issue_bit = category(6);
inline constexpr uint32_t complete_bit = category(7);
inline constexpr uint32_t notify_bit = category(10);
inline constexpr uint32_t discard_bit = category(13);
inline constexpr uint32_t fua_bit = category(15);

// The codes of the events Q, G, I, D and C.
inline constexpr uint32_t queued = 1;
inline constexpr uint32_t got = 4;
inline constexpr uint32_t inserted = 12;
inline constexpr uint32_t issued = 7;
inline constexpr uint32_t completed = 8;

constexpr uint32_t code_of(const BlktraceEvent& event) {
    return event.action & 0xffff;
}

}  // namespace blktrace
}  // namespace blkscope::trace
