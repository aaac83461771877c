// Obedience: whether a device's requests started within the depth and the limits in force at that moment.
//
//     depth    a start needs a free place: with it no more than `depth` requests run. A depth that was lowered
//              stops starts until enough requests have ended.
//     limits   a start needs tokens in a bucket that fills at the rate up to the burst. One request of each client
//              may have paid before, and wait for its turn.
//
// The records say when each request started and ended. The arithmetic is that of the manual page blkscope-models(7),
// in the plainest form, and shares no code with the product.
//
// Units:  nanoseconds; operations and bytes.
// Errors: the text of the first start that should not have been; empty if there is none.
#pragma once

#include <sys/kstat.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blockdev/model/limit_spec.hpp"
#include "trace/request.hpp"

namespace blkscope::simulation {

/// What is in force from `since` on. Before the first setting nothing is checked.
struct Setting {
    hrtime_t since = 0;
    uint32_t depth = 0;
    std::optional<model::LimitSpec> limits;
    hrtime_t limits_since = 0;
};

/// `settings` by their time; `requests` are one device's, in any order.
std::string check_obedience(std::span<const Setting> settings,
                            std::vector<trace::Request> requests);

}  // namespace blkscope::simulation
