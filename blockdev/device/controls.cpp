#include "blockdev/device/controls.hpp"

#include <cassert>

#include "base/log_line.hpp"
#include "blockdev/accounting/accounting.hpp"
#include "blockdev/accounting/faults_kstat.hpp"
#include "blockdev/accounting/limits_kstat.hpp"
#include "blockdev/accounting/model_kstat.hpp"
#include "blockdev/accounting/spec_kstat.hpp"
#include "blockdev/device/detours.hpp"
#include "blockdev/device/device.hpp"
#include "blockdev/device/lane.hpp"
#include "blockdev/device/pacing.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

using Locked = std::lock_guard<Lock>;

}  // namespace

Controls::Controls(Device& device) : device_(device) {}

Controls::~Controls() {
    assert(!nudged_);
    assert(!model_kstat_ && !limits_kstat_ && !faults_kstat_);
    assert(!client_limits_kstat_);
}

// No other thread has the device yet.
void Controls::set_up(Behaviour behaviour) {
    behaviour_.seed = behaviour.seed;
    behaviour_.busy_wait = behaviour.busy_wait;
    behaviour_.state = std::move(behaviour.state);
    for (model::FaultRule& rule : behaviour.faults) add_fault(std::move(rule));
    if (behaviour.limits) set_limits(behaviour.limits);
    if (behaviour.client_limits) set_client_limits(behaviour.client_limits);
    if (behaviour.model) set_model(std::move(behaviour.model));
    behaviour_.state.reset();
}

void Controls::withdraw() {
    const std::lock_guard one(mutex_);
    model_kstat_.reset();
    limits_kstat_.reset();
    faults_kstat_.reset();
    client_limits_kstat_.reset();
}

// The moments of limits and rules never run backwards, as the stamps of requests do not.
hrtime_t Controls::now_ns() const {
    return device_.pacing_->to_ns(device_.read_clock(*device_.first_lane_));
}

// ---- Model, limits, depth ----

void Controls::set_model(std::optional<model::ModelSpec> model) {
    const std::lock_guard one(mutex_);
    model_kstat_.reset();  // waits for readers, who use the counts
    behaviour_.model = std::move(model);
    std::optional<model::ServiceModel> made;
    std::unique_ptr<ModelCounts> counts;
    if (behaviour_.model) {
        made.emplace(*behaviour_.model, device_.size_bytes(), device_.queue_depth(),
                     behaviour_.seed);
        if (behaviour_.state) made->go_on_from(*behaviour_.state);
        counts = std::make_unique<ModelCounts>();
        counts->seed = made->seed();
        counts->servers = made->servers().count();
    }
    ModelCounts* const shown = counts.get();
    {
        const Locked locked(device_.lock_);
        device_.pacing_->swap_model(made, counts, device_.queue_.running(), now_ns());
    }
    if (shown == nullptr) return;
    model_kstat_ = std::make_unique<ModelKstat>(device_.subject_, behaviour_.model->text(), *shown);
}

void Controls::set_limits(std::optional<model::LimitSpec> limits) {
    const std::lock_guard one(mutex_);
    limits_kstat_.reset();
    behaviour_.limits = limits;
    {
        const Locked locked(device_.lock_);
        std::optional<model::Limits> made;
        const hrtime_t now = now_ns();
        if (limits) made.emplace(*limits, now);
        if (limits && behaviour_.state) made->go_on_from(*behaviour_.state, now);
        device_.pacing_->set_limits(made, now);
        nudge();
    }
    if (!limits) return;
    limits_kstat_ = std::make_unique<LimitsKstat>(device_.subject_, *limits, [this] {
        const Locked locked(device_.lock_);
        return LimitsKstat::Copy{*device_.pacing_->tokens().device(), now_ns()};
    });
}

void Controls::set_client_limits(std::optional<model::LimitSpec> limits) {
    const std::lock_guard one(mutex_);
    client_limits_kstat_.reset();
    behaviour_.client_limits = limits;
    {
        const Locked locked(device_.lock_);
        device_.pacing_->set_client_limits(limits, now_ns());
        nudge();
    }
    if (!limits) return;
    client_limits_kstat_ =
        std::make_unique<SpecKstat>(device_.subject_, "client-limits", limits->text());
}

void Controls::retire() {
    const Behaviour last = [this] {
        const std::lock_guard one(mutex_);
        return behaviour_;
    }();
    if (last.limits) set_limits(std::nullopt);
    if (last.client_limits) set_client_limits(std::nullopt);
    if (last.model) set_model(std::nullopt);
}

void Controls::power_off() {
    const std::lock_guard one(mutex_);
    const Locked locked(device_.lock_);
    device_.powered_ = false;
    device_.pacing_->set_client_limits(std::nullopt, now_ns());
    nudge();
}

void Controls::power_on() {
    const auto model = [this] {
        const std::lock_guard one(mutex_);
        const Locked locked(device_.lock_);
        device_.powered_ = true;
        device_.pacing_->set_client_limits(behaviour_.client_limits, now_ns());
        device_.table_.touch();
        device_.look_at_table();
        return behaviour_.model;
    }();
    if (model) set_model(model);
}

void Controls::set_queue_depth(uint32_t depth) {
    assert(depth > 0);
    const std::lock_guard one(mutex_);
    const Locked locked(device_.lock_);
    device_.queue_.set_depth(depth);
    device_.pacing_->set_depth(depth, now_ns());
    if (!planted("depth-unnoticed")) nudge();
}

void Controls::set_order(StartOrder order) {
    const std::lock_guard one(mutex_);
    const Locked locked(device_.lock_);
    device_.queue_.set_order(order);
    nudge();  // a flush that is first now can be gathered
}

StartOrder Controls::order() const {
    return device_.queue_.order();
}

// ---- Faults ----

uint32_t Controls::add_fault(model::FaultRule rule) {
    const std::lock_guard one(mutex_);
    faults_kstat_.reset();  // waits for readers, who use the rules
    uint32_t id = 0;
    {
        const Locked locked(device_.lock_);
        id = device_.pacing_->add_rule(std::move(rule), now_ns());
    }
    show_faults();
    return id;
}

bool Controls::remove_fault(uint32_t id) {
    const std::lock_guard one(mutex_);
    faults_kstat_.reset();
    bool removed = false;
    {
        const Locked locked(device_.lock_);
        removed = device_.pacing_->rules().remove(id);
        if (!planted("hung-kept")) {
            go_on([&](const Buf& buf) { return buf.plan->fault->rule == id; });
        }
    }
    show_faults();
    return removed;
}

void Controls::clear_faults() {
    const std::lock_guard one(mutex_);
    faults_kstat_.reset();
    const Locked locked(device_.lock_);
    device_.pacing_->rules().clear();
    go_on([](const Buf&) { return true; });
}

// Each hung request goes on with the worker of its lane.
template <class Release>
void Controls::go_on(Release release) {
    BufQueue released;
    device_.pacing_->take_hung(release, released);
    while (!released.empty()) {
        Buf& buf = released.pop();
        device_.pacing_->go_on(buf, device_.read_clock(*device_.first_lane_));
        buf.state = Buf::State::called;
        buf.lane->ring_.post(buf, 0);
    }
}

// Only a change of the rules moves them, and one is not under way.
void Controls::show_faults() {
    Pacing& pacing = *device_.pacing_;
    if (pacing.rules().entries().empty()) return;
    faults_kstat_ = std::make_unique<FaultsKstat>(device_.subject_, pacing.rules().entries(),
                                                  pacing.abandoned_count());
}

std::vector<model::FaultRules::Entry> Controls::faults() const {
    const Locked locked(device_.lock_);
    return device_.pacing_->rules().entries();
}

void Controls::abandon(Lane& lane) {
    assert(&lane.device() == &device_);
    Detours::abandon(lane);
}

// ---- The rest ----

bool Controls::clear_sync_error() {
    const std::lock_guard one(mutex_);
    const Locked locked(device_.lock_);
    if (device_.sync_error_ == 0) return true;
    if (!device_.synced_) return false;
    device_.sync_error_ = 0;
    device_.accounting_->commands().sync_error_cleared();
    log_line(device_.subject_.name, ": the failed sync was cleared; data may have been lost");
    return true;
}

std::vector<std::pair<std::string, std::string>> Controls::tls_names() const {
    const Locked locked(device_.lock_);
    return device_.accounting_->clients().tls_names();
}

std::vector<trace::Request> Controls::slowest(hrtime_t over_ns) const {
    const Locked locked(device_.lock_);
    return device_.accounting_->slowest().list(now_ns(), over_ns);
}

Behaviour Controls::behaviour() const {
    const std::lock_guard one(mutex_);
    Behaviour now = behaviour_;
    for (model::FaultRules::Entry& entry : faults()) now.faults.push_back(std::move(entry.rule));
    return now;
}

trace::ModelState Controls::model_state() const {
    const std::lock_guard one(mutex_);
    const Locked locked(device_.lock_);
    Pacing& pacing = *device_.pacing_;
    trace::ModelState state{.at = now_ns(), .seed = behaviour_.seed};
    if (pacing.model()) pacing.model()->add_to(state);
    if (pacing.tokens().device() != nullptr) pacing.tokens().device()->add_to(state, state.at);
    return state;
}

void Controls::nudge() {
    if (nudged_ || !device_.queue_.waits()) return;
    nudged_ = true;
    device_.first_lane_->ring_.post(nudge_, 0);
}

void Controls::Nudge::complete(int32_t result) {
    assert(result == 0);
    Device& device = controls_.device_;
    Lane& lane = device.first_lane();
    lane.ring_.lock(device.lock_);
    assert(controls_.nudged_);
    controls_.nudged_ = false;
    device.start(lane);
}

}  // namespace blkscope
