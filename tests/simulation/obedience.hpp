// Obedience: whether a device's requests started within the depth and the limits in force at that moment, and
// whether one started when it could.
//
//     depth    a start needs a free place: with it no more than `depth` requests run. A depth that was lowered
//              stops starts until enough requests have ended.
//     limits   a start needs tokens in a bucket that fills at the rate up to the burst. One request of each client
//              may have paid before, and wait for its turn.
//     idle     while there is a place, and a request waits whose buckets have tokens, one starts
//
// The records say when each request started and ended. The arithmetic is that of the manual page blkscope-models(7),
// in the plainest form, and shares no code with the product.
//
// Units:  nanoseconds; operations and bytes.
// Errors: the text of the first start that should not have been, or should have; empty if there is none.
#pragma once

#include <sys/kstat.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blockdev/model/limit_spec.hpp"
#include "trace/request.hpp"

namespace blkscope::simulation {

struct KnownModel;

/// What is in force from `since` on. Before the first setting nothing is checked.
struct Setting {
    hrtime_t since = 0;
    uint32_t depth = 0;
    std::optional<model::LimitSpec> limits = {};
    hrtime_t limits_since = 0;
    std::optional<model::LimitSpec> client_limits = {};  // of each client
    hrtime_t client_limits_since = 0;
    const KnownModel* model = nullptr;
    hrtime_t model_since = 0;
};

/// `settings` by their time; `requests` are one device's, in any order.
std::string check_obedience(std::span<const Setting> settings,
                            std::vector<trace::Request> requests);

/// No request waits for longer than `grace` although it could start.
std::string check_idle(std::span<const Setting> settings, std::span<const trace::Request> requests,
                       hrtime_t grace);

}  // namespace blkscope::simulation
