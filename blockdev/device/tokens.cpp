#include "blockdev/device/tokens.hpp"

#include <algorithm>

#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

void take_earlier(std::optional<hrtime_t>& first, const std::optional<hrtime_t>& other) {
    if (other) first = std::min(first.value_or(*other), *other);
}

}  // namespace

void Tokens::set_device(const std::optional<model::Limits>& limits) {
    device_ = limits;
    begins_ = true;
}

void Tokens::set_clients(const std::optional<model::LimitSpec>& limits, hrtime_t now) {
    clients_.set(limits, now);
    begins_ = true;
}

bool Tokens::is_over(hrtime_t now) const {
    return begins_ || (again_at_ && now >= *again_at_);
}

void Tokens::begin_pass(DeviceQueue& queue, hrtime_t now) {
    if (!is_over(now)) {
        clients_.go_on(now);
        return queue.go_on(now);
    }
    begins_ = counted_ = false;
    clients_.begin(now);
    device_ ? queue.begin_pass(*device_, now) : queue.begin_pass(now);
}

std::optional<hrtime_t> Tokens::again_at(const DeviceQueue& queue, const Kernel& kernel) {
    if (!counted_ || refusals_ != queue.refusals()) {
        counted_ = true;
        refusals_ = queue.refusals();
        again_at_ = clients_.again_at();
        if (device_ && !planted("tokens-unnoticed")) {
            take_earlier(again_at_, device_->again_at());
        }
    }
    return again_at_ ? std::optional(kernel_ticks(kernel, *again_at_)) : std::nullopt;
}

}  // namespace blkscope
