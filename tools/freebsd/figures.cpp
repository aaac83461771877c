#include "tools/freebsd/figures.hpp"

#include <algorithm>
#include <cassert>

namespace blkscope::freebsd {

double Figures::operator()(devstat_metric metric) const {
    long double value = 0;
    compute(metric, &value);
    return static_cast<double>(value);
}

uint64_t Figures::count(devstat_metric metric) const {
    uint64_t value = 0;
    compute(metric, &value);
    return value;
}

double Figures::busy_percent() const {
    return elapsed_s_ > 0 ? std::min((*this)(DSM_BUSY_PCT), 100.0) : 0;
}

// The library only reads the entries, although its parameters are not const.
void Figures::compute(devstat_metric metric, void* value) const {
    [[maybe_unused]] const int result =
        devstat_compute_statistics(const_cast<Devstat*>(&now_), const_cast<Devstat*>(&before_),
                                   static_cast<long double>(elapsed_s_), metric, value, DSM_NONE);
    assert(result == 0);
}

}  // namespace blkscope::freebsd
