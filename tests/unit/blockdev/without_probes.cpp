// Each probe, as in a build without <sys/sdt.h>. A test looks at the object file.

#include "blockdev/accounting/probes.hpp"

namespace blkscope {

void reach_each_probe(const Buf& buf);

void reach_each_probe(const Buf& buf) {
    for (const Probe probe : {Probe::request_received, Probe::queue_enter, Probe::io_start,
                              Probe::io_done, Probe::reply_sent, Probe::fault_hit}) {
        probes::at(probe, 0, buf, buf.error);
    }
}

}  // namespace blkscope
