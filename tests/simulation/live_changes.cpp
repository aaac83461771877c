#include "live_changes.hpp"

#include <iterator>
#include <utility>

namespace blkscope::simulation {
namespace {

constexpr const char* models[] = {"all=exp:300us", "read=const:1ms,servers=2",
                                  "write=lognormal:100us:2ms,flush=exp:1ms", "hdd7200",
                                  "all=ssd:4:80us:300us:256K:2ms"};
constexpr const char* limits[] = {"iops=2000", "read_bps=20000000,write_iops=900",
                                  "iops=500:3000:40"};
constexpr const char* mild_faults[] = {"read:error=EIO;chance=1/4",
                                       "all:delay=exp:1ms;every=3",
                                       "write:hang;chance=1/5",
                                       "all:hang=2ms;chance=1/3",
                                       "flush:hang",
                                       "all:disconnect;count=2",
                                       "flush:error=EIO;chance=1/2;sticky;counted",
                                       "write:error=ENOSPC;chance=1/8;after=3"};
constexpr const char* rough_faults[] = {"write:drop;count=3", "all:corrupt=2;chance=1/2",
                                        "write:torn;every=2"};

}  // namespace

std::optional<model::ModelSpec> draw_model(Random& random) {
    const uint64_t which = random.below(std::size(models) + 1);
    if (which == std::size(models)) return std::nullopt;
    return model::ModelSpec::parse(models[which], {});
}

std::optional<model::LimitSpec> draw_limits(Random& random) {
    const uint64_t which = random.below(std::size(limits) + 1);
    if (which == std::size(limits)) return std::nullopt;
    return model::LimitSpec::parse(limits[which]);
}

model::FaultRule draw_fault(Random& random, bool any, uint64_t device_bytes) {
    const uint64_t which =
        random.below(std::size(mild_faults) + (any ? std::size(rough_faults) : 0));
    const char* const text = which < std::size(mild_faults)
                                 ? mild_faults[which]
                                 : rough_faults[which - std::size(mild_faults)];
    return model::FaultRule::parse(text, device_bytes, {});
}

void LiveChanges::make_one(Device& device, bool content) {
    closes_ = false;
    depth_.reset();
    limits_.reset();
    client_limits_.reset();
    switch (random_.below(9)) {
        case 0:
            return device.set_model(draw_model(random_));
        case 1:
            limits_ = draw_limits(random_);
            return device.set_limits(*limits_);
        case 2:
            client_limits_ = draw_limits(random_);
            return device.set_client_limits(*client_limits_);
        case 3:
            depth_ = static_cast<uint32_t>(random_.between(1, 9));
            return device.set_queue_depth(*depth_);
        case 6:
            return device.set_order(random_.one_in(2) ? StartOrder::fair : StartOrder::arrival);
        case 4:
            device.remove_fault(static_cast<uint32_t>(random_.between(1, 5)));
            return;
        case 5:
            return device.clear_faults();
        default:
            return add_fault(device, content);
    }
}

void LiveChanges::note(Setting& setting) const {
    if (depth_) setting.depth = *depth_;
    if (limits_) {
        setting.limits = *limits_;
        setting.limits_since = setting.since;
    }
    if (!client_limits_) return;
    setting.client_limits = *client_limits_;
    setting.client_limits_since = setting.since;
}

void LiveChanges::add_fault(Device& device, bool content) {
    using Kind = model::FaultRule::Kind;
    model::FaultRule rule = draw_fault(random_, !content, device.size_bytes());
    errors_ = errors_ || rule.kind == Kind::error || rule.kind == Kind::torn;
    closes_ = rule.kind == Kind::disconnect;
    device.add_fault(std::move(rule));
}

void LiveChanges::end(Device& device) {
    device.clear_faults();
    depth_.reset();
    limits_.reset();
    client_limits_.reset();
    if (random_.one_in(2)) device.set_limits(*(limits_ = std::optional<model::LimitSpec>()));
    if (random_.one_in(2)) device.set_model(std::nullopt);
}

}  // namespace blkscope::simulation
