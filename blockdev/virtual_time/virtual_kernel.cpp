#include "blockdev/virtual_time/virtual_kernel.hpp"

#include <cassert>

namespace blkscope {

int VirtualKernel::set_up(unsigned entries, io_uring& ring) {
    assert(entries == entries_max);
    assert(!in_use_);
    in_use_ = true;
    submissions_ = {};
    completions_ = {};
    ring = {};
    ring.sq.khead = &submissions_.head;
    ring.sq.ktail = &submissions_.tail;
    ring.sq.kring_mask = &submissions_.mask;
    ring.sq.kring_entries = &submissions_.count;
    ring.sq.kflags = &submissions_.flags;
    ring.sq.kdropped = &submissions_.dropped;
    ring.sq.array = order_.data();
    ring.sq.sqes = submission_entries_.data();
    ring.sq.ring_mask = submissions_.mask;
    ring.sq.ring_entries = submissions_.count;
    ring.cq.khead = &completions_.head;
    ring.cq.ktail = &completions_.tail;
    ring.cq.kring_mask = &completions_.mask;
    ring.cq.kring_entries = &completions_.count;
    ring.cq.kflags = &completions_.flags;
    ring.cq.koverflow = &completions_.dropped;
    ring.cq.cqes = completion_entries_.data();
    ring.cq.ring_mask = completions_.mask;
    ring.cq.ring_entries = completions_.count;
    return 0;
}

void VirtualKernel::tear_down(io_uring&) {
    assert(in_use_);
    in_use_ = false;
}

// The entries are taken, and never complete.
int VirtualKernel::submit(io_uring& ring, unsigned wait_for, hrtime_t ns_max) {
    const unsigned taken = ring.sq.sqe_tail - submissions_.head;
    assert(taken <= 1);
    submissions_.head = submissions_.tail = ring.sq.sqe_head = ring.sq.sqe_tail;
    if (wait_for == 0) return static_cast<int>(taken);
    assert(ns_max > 0 && ns_max != forever);
    now_ += ns_max;
    return static_cast<int>(taken);
}

}  // namespace blkscope
