// Why a ring could not be set up, in words that say what to do.
//
// Units:     entries, bytes; the text has KiB.
// Threads:   a pure function.
// Errors:    none.
// Source:    io_uring_setup(2). Ring memory counts against RLIMIT_MEMLOCK before Linux 5.12, and
//            again since io_create_region() allocates it (io_uring/memmap.c): over all rings of a
//            user who has no CAP_IPC_LOCK. Measured here on Linux 6.18: a ring of 512 entries is
//            refused with 96 KiB and made with 100, two are refused with 196 and made with 200.
#pragma once

#include <cstddef>
#include <string>

namespace blkscope {

/// How much longer the queue of completions is than that of submissions: room for what the
/// completions of a turn prepare.
inline constexpr unsigned completion_queue_factor = 8;

/// The memory that the kernel keeps for a ring with so many submissions.
[[nodiscard]] size_t ring_memory_bytes(size_t entries);

/// `error` is an errno; `ring_bytes` what the ring would have held.
[[nodiscard]] std::string set_up_failure(int error, size_t ring_bytes);

}  // namespace blkscope
