#include "blockdev/accounting/request_histograms.hpp"

#include <cassert>

namespace blkscope {

void RequestHistograms::switch_off() {
    on_.store(false, std::memory_order_relaxed);
    // From here on the worker sees the store. A count that began before is inside the sequence
    // lock, which is waited for.
    make_stores_visible();
    seq_.wait_for_writer();
}

void RequestHistograms::switch_on() {
    switch_off();
    assert(!on());
    counts_.clear();
    on_.store(true, std::memory_order_release);
}

}  // namespace blkscope
