#include "tools/blkscope/adaptation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log_line.hpp"
#include "tools/blkscope/behaviour_config.hpp"

namespace blkscope {
namespace {

// The delay has a histogram, which the text only names.
bool same_rule(const model::FaultRule& one, const model::FaultRule& other) {
    return one.text() == other.text() && one.delay == other.delay;
}

}  // namespace

ExportConfig fixed_part(const ExportConfig& config) {
    ExportConfig fixed = config;
    fixed.queue_depth = queue_depth_default;
    fixed.order = StartOrder::arrival;
    fixed.behaviour = {.seed = config.behaviour.seed};
    return fixed;
}

Adaptation::Adaptation(Device& device, const ExportConfig& config)
    : device_(device),
      wanted_(behaviour_of(config.behaviour, device.size_bytes())),
      queue_depth_(config.queue_depth),
      order_(config.order) {
    const Behaviour now = device.behaviour();
    if (queue_depth_ != device.queue_depth()) {
        changes_.push_back(fmt::format("queue-depth={}", queue_depth_));
    }
    if (order_ != device.order()) {
        changes_.push_back(order_ == StartOrder::fair ? "order=fair" : "order=arrival");
    }
    const auto differs = [this](const char* name, const auto& wanted, const auto& current) {
        if (wanted == current) return false;
        changes_.push_back(setting_text(name, wanted));
        return true;
    };
    limits_differ_ = differs("limit", wanted_.limits, now.limits);
    client_limits_differ_ = differs("client-limit", wanted_.client_limits, now.client_limits);
    // A model without a seed of its own draws by the device's seed, and has no seed here either.
    model_differs_ = differs("model", wanted_.model, now.model);
    compare_faults(now);
    if (empty()) return;
    const std::vector<std::string> warnings = warnings_of(wanted_);
    changes_.insert(changes_.end(), warnings.begin(), warnings.end());
}

void Adaptation::compare_faults(const Behaviour& now) {
    faults_differ_ = !std::ranges::equal(now.faults, wanted_.faults, same_rule);
    if (!faults_differ_) return;
    if (wanted_.faults.empty()) changes_.emplace_back("no faults");
    for (const model::FaultRule& rule : wanted_.faults) changes_.push_back("fault " + rule.text());
}

void Adaptation::apply() {
    if (queue_depth_ != device_.queue_depth()) device_.set_queue_depth(queue_depth_);
    if (order_ != device_.order()) device_.set_order(order_);
    if (limits_differ_) device_.set_limits(wanted_.limits);
    if (client_limits_differ_) device_.set_client_limits(wanted_.client_limits);
    if (model_differs_) device_.set_model(wanted_.model);
    if (faults_differ_) {
        device_.clear_faults();
        for (model::FaultRule& rule : wanted_.faults) device_.add_fault(std::move(rule));
    }
    for (const std::string& change : changes_) log_line(device_.name(), ": ", change);
}

}  // namespace blkscope
