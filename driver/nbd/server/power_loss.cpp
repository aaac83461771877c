#include "driver/nbd/server/power_loss.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <utility>

#include "base/log_line.hpp"
#include "blockdev/backing/crash_backing.hpp"
#include "blockdev/ring/planted.hpp"
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

void require_idle(Cut cut) {
    switch (cut) {
        case Cut::none:
            return;
        case Cut::requests:
            throw std::runtime_error(
                "the connections are closed, but a request has not ended after 5 s; no data is "
                "lost");
        case Cut::stuck:
            throw std::runtime_error(
                "a worker does not answer for 5 s, so some connections may be open; no data is "
                "lost");
    }
}

// An export without power, up to power_on() or to the object's end.
class Unpowered {
  public:
    explicit Unpowered(Export& exp) : exp_(&exp) { exp_->device.power_off(); }
    ~Unpowered() {
        try {
            power_on();
        } catch (const std::exception& error) {  // no memory for the model's new begin
            log_line(exp_->device.name(), ": power on: ", error.what());
        }
    }
    Unpowered& operator=(Unpowered&&) = delete;

    [[nodiscard]] Export& exp() const { return *exp_; }
    void power_on() {
        if (!std::exchange(off_, false)) return;
        exp_->device.power_on();
    }

  private:
    Export* exp_;
    bool off_ = true;
};

}  // namespace

std::vector<PowerLoss> lose_power(Workers& workers, const std::vector<Export*>& exports) {
    require_crash_cache(exports);
    std::vector<uint64_t> serials;
    std::deque<Unpowered> unpowered;
    for (Export* const exp : exports) {
        assert(exp != nullptr);
        serials.push_back(exp->serial);
        unpowered.emplace_back(*exp);
    }
    if (!planted("power-lost-with-clients")) {
        require_idle(workers.cut_clients(serials, drain_time_max));
    }
    std::vector<PowerLoss> losses;
    for (Unpowered& each : unpowered) {
        Export& exp = each.exp();
        PowerLoss loss{.device = exp.device.name(), .cached = exp.crash_cache != nullptr};
        if (loss.cached) loss.survival = exp.crash_cache->lose_power();
        losses.push_back(std::move(loss));
        each.power_on();
    }
    return losses;
}

}  // namespace blkscope::nbd
