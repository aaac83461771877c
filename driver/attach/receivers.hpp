// Receivers: the threads of the kernel that read the replies of an attached device.
//
// The kernel's nbd driver has a work item for each connection, which reads replies until the
// connection ends. Each needs a thread of its own. A busy machine may not have made these threads
// after some milliseconds. A single thread, the rescuer, then takes all the items and runs them one
// after the other.
//
//     kworker/u5:1+nbd0-recv   connection 0        nbd0-recv+nbd0-recv   connection 0, and when it
//     kworker/u5:2+nbd0-recv   connection 1                              has ended, connection 1
//
// The first item ends with its connection, so the replies of the others stay unread. The kernel
// gives such a connection up when a request on it has timed out.
//
// Units:     threads.
// Threads:   any.
// Errors:    none. Where /proc does not show the kernel's threads, as in a container, there is no number.
// Source:    Linux 6.1 kernel/workqueue.c, rescuer_thread() and wq_worker_comm();
//            drivers/block/nbd.c, recv_work(). Linux has rescued one item at a time since commit
//            e5a30c303b07, of 2026.
#pragma once

#include <optional>
#include <string>

namespace blkscope {

/// The threads that now read the replies of /dev/nbdX, X being `index`. `proc` is the mount point
/// of proc(5).
[[nodiscard]] std::optional<unsigned> receivers(int index, const std::string& proc = "/proc");

}  // namespace blkscope
