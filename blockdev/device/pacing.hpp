// Pacing: the model, the limits and the fault rules of a device, and the plans of its requests.
//
//     DeviceQueue ◀─ tokens() ── who may start by its tokens
//     hand_out()  ── plan() ───▶ begin and end of the request, by the model; its fault, by the rules
//     done()      ── answered() ▶ may it end now, or is it held until its planned end?
//     finish()    ── ended() ──▶ overruns, lateness; the plan is free again
//
// The model's clock is the kernel's clock in nanoseconds. A stay is computed from the moment at which
// the request might have started. So the worker's own lateness never adds up. The lateness of each
// end has a histogram.
//
// An overrun is a backing that took longer than the draw. Only the backing's own time counts: a
// start that came late does not make an overrun.
//
// Units:     ticks of the kernel's clock in arguments and results; nanoseconds inside.
// Ownership: owns the plans. Borrows each buf from plan() to ended().
// Threads:   one at a time, with the device locked. The counts are published for any thread.
// Errors:    none.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "blockdev/accounting/model_counts.hpp"
#include "blockdev/device/behaviour.hpp"
#include "blockdev/device/plan.hpp"
#include "blockdev/device/tokens.hpp"
#include "blockdev/model/fault_rules.hpp"
#include "blockdev/model/limits.hpp"
#include "blockdev/model/service_model.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/kernel.hpp"

namespace blkscope {

class Pacing {
  public:
    Pacing(Kernel& kernel, uint32_t depth, uint64_t seed, bool busy_wait);
    Pacing& operator=(Pacing&&) = delete;

    /// No request has a plan or hangs.
    [[nodiscard]] bool idle() const { return free_.size() == plans_.size() && hung_.empty(); }

    // ---- What holds now; requests under way keep their plans. `now` is on the model's clock ----

    /// Exchanges the model and its counts, which are nullptr without a model. `running` requests are
    /// from before it.
    void swap_model(std::optional<model::ServiceModel>& model, std::unique_ptr<ModelCounts>& counts,
                    uint32_t running, hrtime_t now);
    void set_limits(const std::optional<model::Limits>& limits, hrtime_t now);
    void set_client_limits(const std::optional<model::LimitSpec>& limits, hrtime_t now);
    void set_depth(uint32_t depth, hrtime_t now);
    /// Returns the rule's number.
    uint32_t add_rule(model::FaultRule rule, hrtime_t now);
    [[nodiscard]] model::FaultRules& rules() { return rules_; }
    [[nodiscard]] const std::optional<model::ServiceModel>& model() const { return model_; }
    /// A moment on the model's clock.
    [[nodiscard]] hrtime_t to_ns(hrtime_t ticks) const { return kernel_ns(kernel_, ticks); }
    /// Whether a worker may spin before the end of a request.
    [[nodiscard]] bool busy_wait() const { return busy_wait_; }

    // ---- A request's way ----

    /// Whether requests that start now need plan().
    [[nodiscard]] bool plans() const { return model_.has_value() || !rules_.entries().empty(); }

    [[nodiscard]] Tokens& tokens() { return tokens_; }

    /// The backing gets the request at `started`. Only while plans(). Without a model, only a
    /// request that a rule strikes gets a plan.
    void plan(Buf& buf, hrtime_t started);
    /// The backing has answered a request with a plan. The moment until which the request is held;
    /// nothing if it may end at once.
    [[nodiscard]] std::optional<hrtime_t> answered(Buf& buf, hrtime_t now);
    /// A request with a plan ends, and has no plan any more.
    void ended(Buf& buf, hrtime_t now);
    /// Whether a request without a plan began before the model. Others are none of the model's: those of the server
    /// itself, and those without power.
    [[nodiscard]] bool is_before_model(const Buf& buf) const {
        return model_.has_value() && kernel_ns(kernel_, buf.started) <= model_since_;
    }
    /// Such a request ends.
    void unplanned_ended(const Buf& buf, hrtime_t now);

    // ---- Requests that hang ----

    /// A request hangs. Until when; nothing: until its rule is removed.
    [[nodiscard]] std::optional<hrtime_t> hang(Buf& buf, hrtime_t now);
    /// The request hangs no more; the backing gets it now.
    void go_on(Buf& buf, hrtime_t now);
    /// Moves the hung requests for which `take` is true to `taken`; for each, go_on() is called next.
    template <class Take>
    void take_hung(Take take, BufQueue& taken) {
        BufQueue rest;
        while (!hung_.empty()) {
            Buf& buf = hung_.pop();
            (take(buf) ? taken : rest).push(buf);
        }
        hung_.take_over(rest);
    }
    void abandoned() { publish(abandoned_, abandoned_ + 1); }
    /// Requests that hung when their client had closed its connection.
    [[nodiscard]] const uint64_t& abandoned_count() const { return abandoned_; }

  private:
    void changed(hrtime_t now);
    void make_plans();
    Plan& take_plan();
    [[nodiscard]] hrtime_t ready_ns(const Buf& buf) const;
    [[nodiscard]] model::Stay stay_of(const Buf& buf, hrtime_t started, double delay_ns);
    void count(const Plan& plan, hrtime_t answered, hrtime_t now);

    Kernel& kernel_;
    uint32_t depth_;
    const bool busy_wait_;
    std::optional<model::ServiceModel> model_;
    Tokens tokens_;
    model::FaultRules rules_;
    uint32_t model_number_ = 0;  // counts the models
    hrtime_t model_since_ = 0;   // when the model was set
    uint64_t plan_number_ = 0;   // counts the plans
    hrtime_t changed_at_;        // the last change of model, limits or depth
    hrtime_t flush_end_;         // by plan if it had one, of the last flush
    std::list<Plan> plans_;      // no memory without a plan
    std::vector<Plan*> free_;
    std::unique_ptr<ModelCounts> counts_;
    BufQueue hung_;
    uint64_t abandoned_ = 0;
};

}  // namespace blkscope
