// Kernel: the seam between a request's path and the operating system.
//
//     Worker ─▶ Ring ──────── set_up, submit ────────┐
//     Backing ─────────────── pwrite, copy, seek ────┼─▶ Kernel ─▶ Linux, or a simulated kernel
//     Transport ───────────── shutdown, send_now ────┘                in virtual time
//
// Operations are prepared in the ring's own memory, so they do not pass through this class one by
// one. Only system calls do, with one virtual call each. A simulated kernel sets up an io_uring
// whose two queues are plain memory: it reads one and writes the other.
//
// Page faults, SIGBUS and the real page cache are not behind this seam. copy() and is_cached()
// stand for their effects on us.
//
// Units:     bytes; ticks of the kernel's clock, gethrtime_unscaled() on Linux.
// Ownership: descriptors and mappings belong to the caller, as with the system calls.
// Threads:   any; the functions of a ring have the ring's own rule.
// Errors:    -errno in the result, as each system call reports it. errno itself is never set.
// Source:    io_uring_setup(2), io_uring_enter(2), eventfd(2), pread(2), lseek(2), mmap(2),
//            mincore(2), send(2), shutdown(2).
#pragma once

#include <liburing.h>
#include <sys/kstat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/clock.hpp"

namespace blkscope {

class Kernel {
  public:
    // ---- A ring ----

    /// 0, or -errno. The ring is disabled until enable().
    virtual int set_up(unsigned entries, io_uring& ring) = 0;
    virtual void tear_down(io_uring& ring) = 0;
    /// Makes the calling thread the only thread that submits.
    virtual int enable(io_uring& ring) = 0;
    /// No limit of a sleep.
    static constexpr hrtime_t forever = std::numeric_limits<hrtime_t>::max();

    /// Submits all prepared entries. Sleeps until `wait_for` completions are there, for at most
    /// `ns_max` nanoseconds. Returns the number of submitted entries, or -errno. With a limit,
    /// `wait_for` is 1.
    virtual int submit(io_uring& ring, unsigned wait_for, hrtime_t ns_max) = 0;
    /// Moves completions that the kernel holds back into the completion queue, without sleeping.
    virtual int take_completions(io_uring& ring) = 0;
    /// Reserves `count` places in the ring's table of files. 0 gives the table up: waits for the operations on
    /// its files, and lets go of them before it returns.
    virtual int reserve_files(io_uring& ring, unsigned count) = 0;
    /// Writes `fd` to a place of the table; -1 empties the place.
    virtual int set_file(io_uring& ring, unsigned index, int fd) = 0;

    /// Returns a descriptor whose reads on a ring complete after signal_event(), or -errno.
    virtual int open_event() = 0;
    virtual void signal_event(int event) = 0;

    // ---- Files ----

    virtual ssize_t pread(int fd, std::span<std::byte> to, uint64_t at) = 0;
    virtual ssize_t pwrite(int fd, std::span<const std::byte> from, uint64_t at) = 0;
    /// lseek(2) with SEEK_DATA or SEEK_HOLE. With SEEK_END, and 0 for `at`, the current size of a file or
    /// disk, without waiting for requests there.
    virtual int64_t seek(int fd, uint64_t at, int whence) = 0;
    /// A failed write-back of the file that this description has not been told of: 0, or -errno. Tells it
    /// once, and waits for nothing. A kernel without files has none.
    virtual int failed_write_back(int /*fd*/) { return 0; }

    /// The bytes of the file that have a place on the disk: st_blocks of stat(2). -errno if that is not known.
    virtual int64_t allocated_bytes(int /*fd*/) { return -EOPNOTSUPP; }
    /// BLKDISCARD: waits for the disk. 0, or -errno. A kernel without disks has none.
    virtual int discard(int /*fd*/, uint64_t /*at*/, uint64_t /*bytes*/) { return -EOPNOTSUPP; }

    /// A shared mapping of the file; nullptr if it cannot be mapped.
    virtual std::byte* map(int fd, uint64_t bytes) = 0;
    virtual void unmap(std::byte* start, uint64_t bytes) = 0;
    /// Copies into a mapping. False if the file has shrunk or the disk is full; some bytes may have
    /// been copied.
    virtual bool copy(std::byte* to, std::span<const std::byte> from) = 0;
    /// Whether the page cache has all pages of the range of a mapping.
    virtual bool is_cached(const std::byte* first, uint64_t bytes) = 0;
    /// Drops the page tables of the range of a mapping; its data stays in the page cache.
    virtual void forget(std::byte* first, uint64_t bytes) = 0;

    // ---- Sockets ----

    virtual void shutdown(int socket, int how) = 0;
    /// Sends as many bytes as the socket accepts without blocking.
    virtual ssize_t send_now(int socket, std::span<const std::byte> bytes) = 0;
    /// The bytes that were sent and not yet received by the other side; Unix sockets only.
    virtual int64_t unsent_bytes(int socket) = 0;
    /// Whether bytes, the end of the stream or an error wait in the socket.
    virtual bool has_input(int socket) = 0;
    /// Whether the socket is a Unix socket. If so, asks for a send buffer of `send_bytes`.
    virtual bool set_up_if_unix(int socket, int send_bytes) = 0;

    /// Closes a socket, file or event.
    virtual void close(int fd) = 0;

    // ---- The clock ----

    [[nodiscard]] virtual hrtime_t now() = 0;
    /// Puts right a clock that a resume or a migration has moved. Afterwards now() may be earlier.
    virtual void correct_clock() {}
    /// Whether a tick is a nanosecond. Else the ticks are those of base/clock.hpp.
    bool ticks_are_ns = false;

  protected:
    Kernel& operator=(Kernel&&) = delete;
    ~Kernel() = default;
};

/// A time of the kernel's clock in nanoseconds, rounded down.
inline hrtime_t kernel_ns(const Kernel& kernel, hrtime_t ticks) {
    return kernel.ticks_are_ns ? ticks : to_ns(ticks);
}
/// Nanoseconds in ticks of the kernel's clock, rounded up.
inline hrtime_t kernel_ticks(const Kernel& kernel, hrtime_t ns) {
    return kernel.ticks_are_ns ? ns : to_ticks(ns);
}

/// A clock that moves further between two looks, or goes back, is corrected before it is used.
inline constexpr hrtime_t trusted_pause_ns = 100'000'000;

/// The kernel that this process runs on.
Kernel& linux_kernel();

}  // namespace blkscope
