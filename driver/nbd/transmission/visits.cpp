#include "driver/nbd/transmission/visits.hpp"

#include <algorithm>
#include <cassert>

namespace blkscope::nbd {

Visits::~Visits() {
    assert(visits_.empty());
}

std::vector<Visits::Visit>::iterator Visits::find(const Export& exp) {
    return std::find_if(visits_.begin(), visits_.end(),
                        [&](const Visit& visit) { return visit.exp == &exp; });
}

Lane& Visits::open_lane(Export& exp) {
    auto visit = find(exp);
    if (visit == visits_.end()) {
        visit = visits_.insert(visit, {&exp, exp.device.open_lane(ring_), 0});
    }
    assert(visit->lane != nullptr);
    ++visit->clients;
    return *visit->lane;
}

// The last client closes the lane, too. From here on the export may be destroyed.
void Visits::close_lane(Export& exp) {
    const auto visit = find(exp);
    assert(visit != visits_.end() && visit->clients > 0);
    if (--visit->clients == 0) visits_.erase(visit);
}

}  // namespace blkscope::nbd
