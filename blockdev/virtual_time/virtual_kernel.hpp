// VirtualKernel: a ring without Linux, whose sleeps cost no time.
//
//     Ring::wait() ── sleep for 3 ms ──▶ submit() ─▶ the clock is 3 ms later ─▶ Ring::dispatch()
//
// The only operations are alarms of the ring, which needs no kernel for them. There are no files, no
// sockets and no other threads. So each moment is exact. The processor alone decides how fast a device
// runs.
//
// Units:     nanoseconds, which are the ticks.
// Ownership: owns the memory of its ring.
// Threads:   one.
// Errors:    -ENOSYS from all calls for files and sockets.
// Source:    io_uring_setup(2), for the layout of the queues.
#pragma once

#include <array>
#include <cerrno>

#include "blockdev/ring/kernel.hpp"

namespace blkscope {

class VirtualKernel final : public Kernel {
  public:
    /// The clock begins here, because 0 stands for an unknown moment.
    static constexpr hrtime_t first_moment = ns_per_s;

    VirtualKernel() { ticks_are_ns = true; }
    VirtualKernel& operator=(VirtualKernel&&) = delete;

    [[nodiscard]] hrtime_t now() override { return now_; }

    int set_up(unsigned entries, io_uring& ring) override;
    void tear_down(io_uring& ring) override;
    int enable(io_uring&) override { return 0; }
    /// Aborts for a sleep without a limit, because nothing would end that sleep.
    int submit(io_uring& ring, unsigned wait_for, hrtime_t ns_max) override;
    int take_completions(io_uring&) override { return 0; }
    int reserve_files(io_uring&, unsigned) override { return -ENOSYS; }
    int set_file(io_uring&, unsigned, int) override { return -ENOSYS; }

    // The worker itself posts, and takes what it has posted in its next turn.
    int open_event() override { return 0; }
    void signal_event(int) override {}
    void close(int) override {}

    ssize_t pread(int, std::span<std::byte>, uint64_t) override { return -ENOSYS; }
    ssize_t pwrite(int, std::span<const std::byte>, uint64_t) override { return -ENOSYS; }
    int64_t seek(int, uint64_t, int) override { return -ENOSYS; }
    std::byte* map(int, uint64_t) override { return nullptr; }
    void unmap(std::byte*, uint64_t) override {}
    bool copy(std::byte*, std::span<const std::byte>) override { return false; }
    bool is_cached(const std::byte*, uint64_t) override { return false; }
    void forget(std::byte*, uint64_t) override {}
    void shutdown(int, int) override {}
    ssize_t send_now(int, std::span<const std::byte>) override { return -ENOSYS; }
    int64_t unsent_bytes(int) override { return 0; }
    bool has_input(int) override { return false; }
    bool set_up_if_unix(int, int) override { return false; }

  private:
    // One entry is used in a ring's life: the read of the event for other threads' messages.
    static constexpr unsigned entries_max = 64;

    struct Indexes {
        unsigned head = 0;
        unsigned tail = 0;
        unsigned mask = entries_max - 1;
        unsigned count = entries_max;
        unsigned flags = 0;
        unsigned dropped = 0;
    };

    hrtime_t now_ = first_moment;
    bool in_use_ = false;
    Indexes submissions_;
    Indexes completions_;
    std::array<io_uring_sqe, entries_max> submission_entries_{};
    std::array<io_uring_cqe, entries_max> completion_entries_{};
    std::array<unsigned, entries_max> order_{};
};

}  // namespace blkscope
