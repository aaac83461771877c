// Controls: the behaviour of a device, and its changes while the device serves. A part of Device.
//
//     any thread ── set_…() ──▶ under the device's lock ──▶ holds for requests that start afterwards
//                                       │
//                                       └─ requests wait ─▶ nudge ─▶ first lane's worker ─▶ start()
//
// A call makes the new model before it locks the device, and frees the old one afterwards. Requests
// under way keep what they began with.
//
// Units:     requests; nanoseconds of the kernel's clock.
// Ownership: a part of the device.
// Threads:   any. No ring of the calling thread may have the device locked: see Ring::unlock().
// Errors:    none; the parsers have refused bad specs and rules.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blockdev/device/behaviour.hpp"
#include "blockdev/model/fault_rules.hpp"
#include "blockdev/ring/completion.hpp"
#include "trace/model_state.hpp"
#include "trace/request.hpp"

namespace blkscope {

class Device;
class FaultsKstat;
class Lane;
class LimitsKstat;
class ModelKstat;
class SpecKstat;

class Controls {
  public:
    Controls& operator=(Controls&&) = delete;

    /// Requests under way end by the model that planned them.
    void set_model(std::optional<model::ModelSpec> model);
    /// The new buckets begin full, or with their initial credits.
    void set_limits(std::optional<model::LimitSpec> limits);
    /// The same for each client of the device.
    void set_client_limits(std::optional<model::LimitSpec> limits);
    /// The device is about to go: removes limits and model, so that nothing waits for them.
    void retire();
    /// A loss of power begins. Until power_on(), no model, limit or fault concerns a request.
    void power_off();
    /// The loss of power has ended. No client has a connection. The model begins anew, and the
    /// partition table is read again.
    void power_on();
    /// A depth that is lowered lets what is running end.
    void set_queue_depth(uint32_t depth);
    /// Which request starts next. Those that a limit holds back keep their places.
    void set_order(StartOrder order);
    [[nodiscard]] StartOrder order() const;
    /// Adds a rule behind the others. Returns its number, which no other rule of the device gets.
    uint32_t add_fault(model::FaultRule rule);
    /// False if there is no rule with this number.
    bool remove_fault(uint32_t id);
    void clear_faults();
    [[nodiscard]] std::vector<model::FaultRules::Entry> faults() const;
    /// Ends the effect of a failed sync on later requests, and logs that. False if no sync has
    /// succeeded since the failed one. True if there is nothing to clear.
    bool clear_sync_error();
    /// The TLS names of the clients: see Clients::tls_names().
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> tls_names() const;
    /// The slowest requests of the last minute: see Slowest::list().
    [[nodiscard]] std::vector<trace::Request> slowest(hrtime_t over_ns) const;
    /// The behaviour that holds now.
    [[nodiscard]] Behaviour behaviour() const;
    /// Where the model and the limits are now.
    [[nodiscard]] trace::ModelState model_state() const;

    /// Ends the hung requests of a lane that are not wanted() any more, with ESHUTDOWN: the end of a
    /// client. Without power, the requests that are held end, too. Only the lane's worker calls it,
    /// with any device locked or none.
    void abandon(Lane& lane);

  protected:
    explicit Controls(Device& device);
    ~Controls();

    /// For the end of the device's constructor: the first behaviour.
    void set_up(Behaviour behaviour);
    /// Makes the first lane's worker start what can start, if requests wait. The device is locked.
    void nudge();
    /// For the begin of the device's destructor: withdraws the kstats.
    void withdraw();

  private:
    friend class Lane;

    /// A message to the worker of the first lane.
    class Nudge final : public Completion {
      public:
        explicit Nudge(Controls& controls) : controls_(controls) {}
        void complete(int32_t result) override;

      private:
        Controls& controls_;
    };

    template <class Release>
    void go_on(Release release);
    void show_faults();
    [[nodiscard]] hrtime_t now_ns() const;

    Device& device_;
    mutable std::mutex mutex_;  // one change at a time; taken before the device's lock
    Behaviour behaviour_;       // without the rules, which Pacing has
    std::unique_ptr<ModelKstat> model_kstat_;
    std::unique_ptr<LimitsKstat> limits_kstat_;
    std::unique_ptr<FaultsKstat> faults_kstat_;
    std::unique_ptr<SpecKstat> client_limits_kstat_;
    Nudge nudge_{*this};
    bool nudged_ = false;  // the message is on its way; the device's lock protects it
};

}  // namespace blkscope
