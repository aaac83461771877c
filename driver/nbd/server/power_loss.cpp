#include "driver/nbd/server/power_loss.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "blockdev/backing/crash_backing.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/server/workers.hpp"

namespace blkscope::nbd {
namespace {

// The command that asks waits for 10 s.
constexpr std::chrono::seconds drain_time_max{5};

void require_crash_cache(const std::vector<Export*>& exports) {
    const bool any = std::any_of(exports.begin(), exports.end(),
                                 [](const Export* exp) { return exp->crash_cache != nullptr; });
    if (any) return;
    throw std::runtime_error(exports.size() == 1
                                 ? exports.front()->device.name() +
                                       " has no crash cache; see 'serve --crash-cache'"
                                 : "no export has a crash cache; see 'serve --crash-cache'");
}

}  // namespace

std::vector<PowerLoss> lose_power(Workers& workers, const std::vector<Export*>& exports) {
    require_crash_cache(exports);
    std::vector<uint64_t> serials;
    for (Export* const exp : exports) {
        assert(exp != nullptr);
        serials.push_back(exp->serial);
        exp->device.power_off();
    }
    const auto deadline = std::chrono::steady_clock::now() + drain_time_max;
    const bool idle = workers.cut_clients(serials, deadline);
    std::vector<PowerLoss> losses;
    for (Export* const exp : exports) {
        PowerLoss loss{.device = exp->device.name(), .cached = exp->crash_cache != nullptr};
        if (idle && loss.cached) loss.survival = exp->crash_cache->lose_power();
        losses.push_back(std::move(loss));
        exp->device.power_on();
    }
    if (idle) return losses;
    throw std::runtime_error(
        "the connections are closed, but a request has not ended after 5 s; no data is lost");
}

}  // namespace blkscope::nbd
