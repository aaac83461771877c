#include "blockdev/device/pacing.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "blockdev/accounting/probes.hpp"
#include "blockdev/device/device.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

constexpr double longest_ns = model::Time{model::Time::max_ps}.ns();  // a pareto has no upper bound

Plan::Fault fault_of(const model::FaultRules::Hit& hit) {
    const model::FaultRule& rule = *hit.rule;
    Plan::Fault fault{.rule = hit.id,
                      .kind = rule.kind,
                      .counted = rule.counted,
                      .sticky = rule.sticky,
                      .error = rule.error,
                      .corrupt_bytes = rule.corrupt_bytes,
                      .hang_ns = {},
                      .draws = hit.draws};
    if (rule.hang) fault.hang_ns = std::llround(rule.hang->ns());
    return fault;
}

}  // namespace

Pacing::Pacing(Kernel& kernel, uint32_t depth, uint64_t seed, bool busy_wait)
    : kernel_(kernel),
      depth_(depth),
      busy_wait_(busy_wait),
      rules_(seed),
      changed_at_(std::numeric_limits<hrtime_t>::min()),
      flush_end_(std::numeric_limits<hrtime_t>::min()) {
    assert(depth_ > 0);
}

void Pacing::swap_model(std::optional<model::ServiceModel>& model,
                        std::unique_ptr<ModelCounts>& counts, uint32_t running, hrtime_t now) {
    assert(model.has_value() == (counts != nullptr));
    model_.swap(model);
    if (model_) model_->begin_beside(running);
    counts_.swap(counts);
    ++model_number_;
    model_since_ = now;
    changed(now);
}

void Pacing::set_limits(const std::optional<model::Limits>& limits, hrtime_t now) {
    tokens_.set_device(limits);
    changed(now);
}

void Pacing::set_client_limits(const std::optional<model::LimitSpec>& limits, hrtime_t now) {
    tokens_.set_clients(limits, now);
    changed(now);
}

void Pacing::set_depth(uint32_t depth, hrtime_t now) {
    assert(depth > 0);
    depth_ = depth;
    if (model_) {
        model_->set_depth(depth);
        publish(counts_->servers, uint64_t{model_->servers().count()});
    }
    changed(now);
}

uint32_t Pacing::add_rule(model::FaultRule rule, hrtime_t now) {
    const uint32_t id = rules_.add(std::move(rule), now);
    make_plans();
    return id;
}

// Requests that wait now might have started at the change, and not before it.
void Pacing::changed(hrtime_t now) {
    assert(now >= changed_at_);
    changed_at_ = now;
    make_plans();
}

// As many plans as requests run, so that no request allocates one.
void Pacing::make_plans() {
    if (!plans()) return;
    free_.reserve(std::max<size_t>(depth_, plans_.size()));
    while (plans_.size() < depth_) free_.push_back(&plans_.emplace_back());
}

// After the depth was lowered, more requests may run for a while.
Plan& Pacing::take_plan() {
    if (free_.empty()) return plans_.emplace_back();
    Plan& plan = *free_.back();
    free_.pop_back();
    assert(plan.buf == nullptr);
    return plan;
}

// When the request might have started: it was there, and so were its tokens. A flush might not have
// started before the end of the flush before it.
hrtime_t Pacing::ready_ns(const Buf& buf) const {
    hrtime_t ready = std::max(kernel_ns(kernel_, buf.queued), changed_at_);
    if (buf.op == Buf::Op::flush) ready = std::max(ready, flush_end_);
    return std::max(ready, buf.tokens_since);
}

void Pacing::plan(Buf& buf, hrtime_t started) {
    assert(buf.plan == nullptr);
    assert(buf.state == Buf::State::running);
    std::optional<model::FaultRules::Hit> hit;
    if (!rules_.entries().empty()) hit = rules_.strike(buf, kernel_ns(kernel_, started));
    if (hit) probes::at(Probe::fault_hit, buf.lane->device().instance(), buf, hit->rule->error);
    if (!model_ && !hit) return;
    Plan& plan = take_plan();
    plan.phase = Plan::Phase::running;
    plan.buf = &buf;
    plan.number = ++plan_number_;
    plan.planner = model_ ? model_number_ : 0;
    plan.started = kernel_ns(kernel_, started);
    plan.answered = plan.until = 0;
    plan.fault.reset();
    double delay_ns = 0;
    if (hit && hit->rule->kind == model::FaultRule::Kind::delay && !planted("delay-lost")) {
        delay_ns = std::min(hit->rule->delay->draw_ns(hit->draws), longest_ns);
    } else if (hit) {
        plan.fault = fault_of(*hit);
    }
    plan.stay = stay_of(buf, plan.started, delay_ns);
    assert(plan.stay.end >= plan.stay.begin);
    buf.drawn_ns = static_cast<uint64_t>(plan.stay.end - plan.stay.begin);
    buf.plan = &plan;
}

model::Stay Pacing::stay_of(const Buf& buf, hrtime_t started, double delay_ns) {
    if (!model_) return {model::ServiceModel::no_server, started, started + std::llround(delay_ns)};
    const hrtime_t ready = model_->knows_place() ? ready_ns(buf) : started;
    const model::Stay stay = model_->start(buf, ready, delay_ns);
    publish(counts_->drawn, model_->counts().drawn);
    return stay;
}

std::optional<hrtime_t> Pacing::answered(Buf& buf, hrtime_t now) {
    assert(buf.plan != nullptr && buf.plan->buf == &buf);
    Plan& plan = *buf.plan;
    assert(plan.phase == Plan::Phase::running);
    plan.answered = kernel_ns(kernel_, now);
    if (plan.answered >= plan.stay.end || planted("model-skipped")) return std::nullopt;
    plan.phase = Plan::Phase::held;
    plan.until = kernel_ticks(kernel_, plan.stay.end);
    return plan.until;
}

// A late start is not the backing's fault. Its time counts from the planned begin. The place of a
// request without a server is free at the true end.
void Pacing::ended(Buf& buf, hrtime_t now) {
    assert(buf.plan != nullptr && buf.plan->buf == &buf);
    Plan& plan = *buf.plan;
    assert(plan.answered > 0);
    hrtime_t answered = plan.answered;
    if (plan.stay.server != model::ServiceModel::no_server) {
        answered -= std::max<hrtime_t>(plan.started - plan.stay.begin, 0);
    }
    if (buf.op == Buf::Op::flush && !planted("flushes-at-once")) {
        flush_end_ = std::max(plan.stay.end, answered);
    }
    if (model_ && plan.planner == model_number_) {
        count(plan, answered, kernel_ns(kernel_, now));
    } else if (model_) {
        model_->other_ended(kernel_ns(kernel_, now));
    }
    plan.buf = nullptr;
    plan.until = 0;
    buf.plan = nullptr;
    if (!planted("plan-kept") || buf.error == 0) free_.push_back(&plan);
}

// The next flush might not have started earlier.
void Pacing::unplanned_ended(const Buf& buf, hrtime_t now) {
    const hrtime_t end = kernel_ns(kernel_, now);
    if (buf.op == Buf::Op::flush) flush_end_ = end;
    model_->other_ended(end);
}

void Pacing::count(const Plan& plan, hrtime_t answered, hrtime_t now) {
    model_->ended(plan.stay, answered);
    publish(counts_->overruns, model_->counts().overruns);
    publish(counts_->overrun_ns, model_->counts().overrun_ns);
    if (plan.stay.server == model::ServiceModel::no_server) return;
    const hrtime_t late = now - std::max(plan.stay.end, answered);
    counts_->late(static_cast<uint64_t>(std::max<hrtime_t>(late, 0)));
}

// ---- Requests that hang ----

// The request holds a place of the depth, but no server.
std::optional<hrtime_t> Pacing::hang(Buf& buf, hrtime_t now) {
    assert(buf.plan != nullptr && buf.plan->fault);
    Plan& plan = *buf.plan;
    assert(plan.phase == Plan::Phase::running);
    plan.phase = Plan::Phase::hung;
    plan.stay.server = model::ServiceModel::no_server;
    hung_.push(buf);
    if (!plan.fault->hang_ns) return std::nullopt;
    const hrtime_t hang_ns = (planted("hang-twice") ? 2 : 1) * *plan.fault->hang_ns;
    plan.until = kernel_ticks(kernel_, kernel_ns(kernel_, now) + hang_ns);
    return plan.until;
}

void Pacing::go_on(Buf& buf, hrtime_t now) {
    assert(buf.plan != nullptr);
    Plan& plan = *buf.plan;
    assert(plan.phase == Plan::Phase::hung);
    plan.phase = Plan::Phase::running;
    plan.until = 0;
    plan.fault.reset();
    plan.started = kernel_ns(kernel_, now);
}

}  // namespace blkscope
