// The message for a ring that could not be set up, in words that say how to correct it.
//
// Units:     entries, bytes; the text has KiB.
// Threads:   any; a pure function.
// Errors:    none.
// Source:    io_uring_setup(2). Ring memory counts against RLIMIT_MEMLOCK before Linux 5.12, and
//            again since io_create_region() allocates it (io_uring/memmap.c). The limit is for all
//            rings of a user without CAP_IPC_LOCK. Measured here on Linux 6.18: a ring of 512
//            entries is refused with 96 KiB and made with 100. Two are refused with 196 and made
//            with 200.
#pragma once

#include <cstddef>
#include <string>

namespace blkscope {

/// The queue of completions is this many times longer than the queue of submissions. The
/// completions of a turn prepare further operations, which need the room.
inline constexpr unsigned completion_queue_factor = 8;

/// The memory that the kernel keeps for a ring with `entries` submissions.
[[nodiscard]] size_t ring_memory_bytes(size_t entries);

/// `error` is an errno; `ring_bytes` is the memory that the ring would have had.
[[nodiscard]] std::string set_up_failure(int error, size_t ring_bytes);

}  // namespace blkscope
