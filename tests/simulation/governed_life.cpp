#include "governed_life.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "asker.hpp"
#include "blockdev/backing/memory_backing.hpp"
#include "blockdev/device/device.hpp"
#include "blockdev/device/plan.hpp"
#include "client.hpp"
#include "model_obedience.hpp"
#include "obedience.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t governed_stream = 0x676f7665;
constexpr uint64_t governed_pages = 32;
constexpr uint64_t governed_blocks_max = 24;
constexpr uint64_t governed_keys = 4;
constexpr uint64_t governed_turn_ns_max = 2'000;
constexpr hrtime_t governed_ms = 1'000'000;
constexpr hrtime_t governed_us = 1'000;
// A worker's turn, its messages to others, and its timers.
constexpr hrtime_t governed_grace_ns = 60 * governed_us;

constexpr KnownModel::Span both(hrtime_t ns) {
    return {ns, ns};
}

// By operation: read, write, flush, trim, write_zeroes, cache, block_status.
constexpr hrtime_t t300 = 300 * governed_us;
constexpr std::array<KnownModel, 4> known_models{{
    {"all=const:300us",
     {both(t300), both(t300), both(t300), both(t300), both(t300), both(t300), both(t300)}},
    {"read=const:500us,servers=2", {both(500 * governed_us)}, 0, 2},
    {"write=uniform:100us:400us,flush=const:1ms",
     {{{}, {100 * governed_us, 400 * governed_us}, both(governed_ms)}}},
    {"read=const:20us,write=const:30us,per_byte=10ns",
     {both(20 * governed_us), both(30 * governed_us)},
     10},
}};

constexpr std::array governed_limits{
    "iops=2000",
    "read_bps=20000000,write_iops=900",
    "iops=1000:3000:40:5",
    "iops=3000,unit=4K",
    "bps=9000000",
    "iops=2500,write_bps=4000000",
    "write_iops=700,read_iops=1500,unit=2K",
};
// Each error is of one rule.
constexpr std::array rule_errors{EPERM, EIO, ENOMEM, ENOSPC, EOVERFLOW, ENOTSUP};
constexpr std::array<std::optional<trace::Op>, 5> rule_ops{
    trace::Op::read, trace::Op::write, trace::Op::trim, trace::Op::write_zeroes, std::nullopt};

class GovernedLife {
  public:
    GovernedLife(uint64_t seed, const Cuts& cuts);
    ~GovernedLife();
    GovernedLife(const GovernedLife&) = delete;
    GovernedLife& operator=(const GovernedLife&) = delete;

    Outcome run();

  private:
    struct Party {
        unsigned ring_number = 0;
        std::unique_ptr<Ring> ring;
        std::unique_ptr<Lane> lane;
    };

    /// A connection of a client, or a requester without one.
    struct Connection {
        Party* party = nullptr;
        blkscope::Client* client = nullptr;
        uint64_t key = 0;
        ConnectionFigures figures;
        unsigned out = 0;
        bool wanted = true;  // waits for its answers
        bool lost = false;   // ended without an announcement
    };

    struct Request : Asker {
        GovernedLife* life = nullptr;
        Connection* connection = nullptr;

        [[nodiscard]] bool wanted() const override { return connection->wanted; }
        [[nodiscard]] bool orphaned() override { return connection->lost; }
        /// It has started, and has not ended.
        [[nodiscard]] bool runs() const { return out && started >= queued && started > 0; }
    };

    [[nodiscard]] Lane& lane_of(Party& party);
    void wait(Party& party);
    void open_connections();
    void close_connections();
    void send();
    void plan_phase();
    void run_until_quiet();
    void change_one();
    void change_model();
    void change_limits(bool of_clients);
    void add_rule();
    [[nodiscard]] KnownRule draw_rule();
    void remove_rules(size_t first, size_t last);
    void note_hits();
    Setting& note_change();
    static void done(Buf& buf);
    void judge(Request& request);
    void check_quiet();
    void release();
    [[nodiscard]] KnownRule& rule_of(const Request& request);
    void end_client();
    void check();
    void complain(const std::string& wrong);

    Timeline timeline_;
    Judge judge_;
    Random random_;
    SimulatedKernel kernel_;
    Oracle oracle_;
    const Cuts& cuts_;
    std::vector<std::unique_ptr<Party>> parties_;
    std::unique_ptr<Device> device_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<std::unique_ptr<Request>> requests_;  // under way
    Chronicle chronicle_;
    size_t errors_ = 0;    // of rules so far
    hrtime_t delays_ = 0;  // of rules so far
    uint64_t done_ = 0;
    uint64_t unwanted_ = 0;  // requests that are served for nobody, and that no rule lets hang
    StartOrder order_ = StartOrder::arrival;
};

GovernedLife::GovernedLife(uint64_t seed, const Cuts& cuts)
    : random_(seed, governed_stream),
      kernel_(timeline_, seed),
      oracle_(std::vector<std::byte>(governed_pages * page_bytes)),
      cuts_(cuts) {
    const auto rings = std::min(static_cast<unsigned>(random_.between(1, 3)), cuts.workers_max);
    for (unsigned i = 0; i < rings; ++i) {
        auto party = std::make_unique<Party>();
        party->ring_number = kernel_.rings();
        party->ring = std::make_unique<Ring>(64, false, kernel_);
        kernel_.when_ready(party->ring_number, [this, at = party.get()] {
            at->ring->dispatch();
            wait(*at);
        });
        party->ring->enable();
        parties_.push_back(std::move(party));
    }
    static constexpr uint32_t depths[] = {1, 2, 3, 8, 64};
    const uint32_t depth = depths[random_.below(std::size(depths))];
    if (random_.one_in(2)) order_ = StartOrder::fair;
    DeviceOptions options{.queue_depth = depth, .order = order_, .client_stats = 2};
    options.behaviour.seed = seed;
    device_ = std::make_unique<Device>(*parties_[0]->ring,
                                       std::make_unique<MemoryBacking>(oracle_.bytes()),
                                       std::nullopt, std::move(options));
    for (auto& party : parties_) {
        if (party->ring_number > 0) party->lane = device_->open_lane(*party->ring);
        party->ring->unlock();
        wait(*party);
    }
    chronicle_.settings.push_back({.since = timeline_.now(), .depth = depth});
}

// After a failure the objects cannot be destroyed in order.
GovernedLife::~GovernedLife() {
    timeline_.clear();
    if (!judge_.failed()) return;
    for (auto& party : parties_) static_cast<void>(party.release());
    for (auto& request : requests_) static_cast<void>(request.release());
    for (auto& connection : connections_) static_cast<void>(connection.release());
    static_cast<void>(device_.release());
}

Lane& GovernedLife::lane_of(Party& party) {
    return party.lane ? *party.lane : device_->first_lane();
}

void GovernedLife::wait(Party& party) {
    timeline_.spend(static_cast<hrtime_t>(random_.between(1, governed_turn_ns_max)));
    party.ring->wait();
    if (kernel_.asleep(party.ring_number)) return;
    timeline_.after(static_cast<hrtime_t>(random_.between(1, governed_turn_ns_max)),
                    [this, &party] {
                        party.ring->dispatch();
                        wait(party);
                    });
}

// ---- Clients and their requests ----

void GovernedLife::open_connections() {
    while (connections_.size() < 6) {
        auto connection = std::make_unique<Connection>();
        connection->party = parties_[random_.below(parties_.size())].get();
        connection->key = random_.below(governed_keys + 1);
        if (connection->key > 0) {
            connection->client =
                &lane_of(*connection->party)
                     .open_client({.key = std::to_string(connection->key)}, connection->figures);
        }
        wait(*connection->party);
        connections_.push_back(std::move(connection));
    }
}

void GovernedLife::close_connections() {
    std::erase_if(connections_, [&](const auto& connection) {
        if (connection->out > 0) return false;
        Party& party = *connection->party;
        if (connection->client != nullptr) {
            lane_of(party).close_client(*connection->client, connection->figures);
        }
        wait(party);
        return true;
    });
}

void GovernedLife::send() {
    Connection& connection = *connections_[random_.below(connections_.size())];
    if (!connection.wanted) return;
    auto request = std::make_unique<Request>();
    request->life = this;
    request->connection = &connection;
    request->client = connection.client;
    request->draw(random_, oracle_, timeline_.now(), governed_blocks_max);
    request->iodone = done;
    ++connection.out;
    Buf& buf = *request;
    requests_.push_back(std::move(request));
    device_->strategy(buf, lane_of(*connection.party));
    wait(*connection.party);
}

void GovernedLife::done(Buf& buf) {
    auto& request = static_cast<Request&>(buf);
    request.life->judge(request);
}

void GovernedLife::judge(Request& request) {
    timeline_.note(static_cast<uint64_t>(request.error));
    timeline_.note(static_cast<uint64_t>(request.finished));
    complain(request.judge(oracle_, timeline_.now()));
    ++done_;
    --request.connection->out;
    chronicle_.requests.push_back(
        {.queued = request.queued,
         .started = request.started,
         .finished = request.finished,
         .drawn_ns = request.drawn_ns,
         .offset = request.offset,
         .bytes = request.bcount,
         .client = static_cast<uint32_t>(request.client == nullptr ? 0 : request.connection->key),
         .error = static_cast<uint16_t>(request.error),
         .op = static_cast<trace::Op>(request.op),
         .flags = request.fua ? trace::flag::fua : uint8_t{0}});
    const auto found =
        std::ranges::find_if(requests_, [&](const auto& each) { return each.get() == &request; });
    assert(found != requests_.end());
    timeline_.after(0, [gone = std::shared_ptr<Request>(std::move(*found))] {});
    requests_.erase(found);
}

// ---- Changes ----

Setting& GovernedLife::note_change() {
    Setting setting = chronicle_.settings.back();
    setting.since = timeline_.now();
    return chronicle_.settings.emplace_back(std::move(setting));
}

void GovernedLife::change_model() {
    const uint64_t which = random_.below(known_models.size() + 1);
    Setting& setting = note_change();
    setting.model_since = setting.since;
    setting.model = which < known_models.size() ? &known_models[which] : nullptr;
    if (setting.model == nullptr) return device_->set_model(std::nullopt);
    device_->set_model(model::ModelSpec::parse(setting.model->text, {}));
}

void GovernedLife::change_limits(bool of_clients) {
    const uint64_t which = random_.below(governed_limits.size() + 2);
    std::optional<model::LimitSpec> limits;
    if (which < governed_limits.size()) limits = model::LimitSpec::parse(governed_limits[which]);
    Setting& setting = note_change();
    (of_clients ? setting.client_limits : setting.limits) = limits;
    (of_clients ? setting.client_limits_since : setting.limits_since) = setting.since;
    of_clients ? device_->set_client_limits(limits) : device_->set_limits(limits);
}

KnownRule GovernedLife::draw_rule() {
    KnownRule rule;
    rule.op = rule_ops[random_.below(rule_ops.size())];
    const uint64_t kind = random_.below(5);
    if (kind < 2 && errors_ < rule_errors.size()) {
        rule.kind = KnownRule::Kind::error;
        rule.error = rule_errors[errors_++];
    } else if (kind == 2) {
        rule.kind = KnownRule::Kind::delay;
        rule.ns = 2 * draw_ns_max * ++delays_;
    } else {
        rule.kind = KnownRule::Kind::hang;
        if (!rule.op) rule.op = trace::Op::read;  // gathered flushes seem to hang
        if (random_.one_in(2))
            rule.ns = static_cast<hrtime_t>(random_.between(1, 30)) * governed_ms;
    }
    if (random_.one_in(3)) {
        const uint64_t sectors = oracle_.bytes() / Oracle::block_bytes;
        const uint64_t first = random_.below(sectors);
        rule.sectors.emplace(first, std::min(sectors - 1, first + random_.below(sectors / 2)));
    }
    if (random_.one_in(3)) rule.chance = random_.between(2, 5);
    if (random_.one_in(3)) rule.after = random_.between(1, 9);
    if (random_.one_in(3)) rule.every = random_.between(2, 4);
    if (rule.kind == KnownRule::Kind::hang || random_.one_in(2)) rule.count = random_.between(1, 5);
    if (random_.one_in(4)) rule.lasts = static_cast<hrtime_t>(random_.between(1, 20)) * governed_ms;
    return rule;
}

void GovernedLife::add_rule() {
    KnownRule rule = draw_rule();
    rule.added = timeline_.now();
    rule.id = device_->add_fault(model::FaultRule::parse(rule.text(), oracle_.bytes(), {}));
    chronicle_.rules.push_back(rule);
}

void GovernedLife::note_hits() {
    for (const auto& entry : device_->faults()) {
        const auto found = std::ranges::find(chronicle_.rules, entry.id, &KnownRule::id);
        assert(found != chronicle_.rules.end());
        found->hits = entry.hits;
    }
}

/// Removes rules by their places in the chronicle; those that are there.
void GovernedLife::remove_rules(size_t first, size_t last) {
    note_hits();
    for (size_t i = first; i < last; ++i) {
        KnownRule& rule = chronicle_.rules[i];
        if (rule.removed <= timeline_.now()) continue;
        rule.removed = timeline_.now();
        if (!device_->remove_fault(rule.id)) judge_.fail("a rule is gone: " + rule.text());
    }
    if (!device_->faults().empty() && first == 0 && last == chronicle_.rules.size()) {
        judge_.fail("a rule is left that was removed");
    }
}

void GovernedLife::change_one() {
    switch (random_.below(10)) {
        case 0:
        case 1:
            return change_model();
        case 2:
        case 3:
            return change_limits(false);
        case 4:
            return change_limits(true);
        case 5: {
            Setting& setting = note_change();
            setting.depth = static_cast<uint32_t>(random_.between(1, 9));
            return device_->set_queue_depth(setting.depth);
        }
        case 6:
            return device_->set_order(random_.one_in(2) ? StartOrder::fair : StartOrder::arrival);
        case 7: {
            if (chronicle_.rules.empty()) return add_rule();
            const size_t which = random_.below(chronicle_.rules.size());
            return remove_rules(which, which + 1);
        }
        default:
            return add_rule();
    }
}

// ---- A phase ----

void GovernedLife::plan_phase() {
    open_connections();
    const uint64_t span_us = random_.between(200, 20'000);
    const auto when = [&] {
        return static_cast<hrtime_t>(random_.between(1, span_us)) * governed_us;
    };
    const auto count = std::min(static_cast<unsigned>(random_.between(10, 60)), cuts_.requests_max);
    for (unsigned i = 0; i < count; ++i) {
        timeline_.after(when(), [this] { send(); });
    }
    if (cuts_.no_changes) return;
    for (uint64_t i = random_.between(0, 5); i > 0; --i) {
        timeline_.after(when(), [this] { change_one(); });
    }
}

void GovernedLife::run_until_quiet() {
    while (!judge_.failed() && timeline_.step()) {
    }
}

// Nothing happens any more. So only requests hang that no time ends, and others wait behind these.
void GovernedLife::check_quiet() {
    if (judge_.failed()) return;
    note_hits();
    uint64_t hung = 0;
    for (const KnownRule& rule : chronicle_.rules) {
        const bool holds = rule.kind == KnownRule::Kind::hang && rule.ns == 0;
        if (holds && rule.removed > timeline_.now()) hung += rule.hits - rule.ended;
    }
    uint64_t running = 0;
    for (const auto& request : requests_) running += request->runs() ? 1 : 0;
    if (running > hung || running + unwanted_ < hung) {
        judge_.fail(std::to_string(running) + " requests run in a quiet device, of which " +
                    std::to_string(hung) + " should hang");
    }
    if (running < requests_.size() && running < chronicle_.settings.back().depth) {
        judge_.fail("requests wait in a quiet device with a free place");
    }
}

/// The rule that lets the request hang.
KnownRule& GovernedLife::rule_of(const Request& request) {
    assert(request.plan != nullptr && request.plan->fault);
    const auto found =
        std::ranges::find(chronicle_.rules, request.plan->fault->rule, &KnownRule::id);
    assert(found != chronicle_.rules.end());
    return *found;
}

/// A client ends with all its connections.
void GovernedLife::end_client() {
    Connection& chosen = *connections_[random_.below(connections_.size())];
    chosen.wanted = false;
    chosen.lost = random_.one_in(2);
    std::vector<const Request*> ending;
    for (const auto& request : requests_) {
        const bool ends = request->connection == &chosen && (request->runs() || chosen.lost);
        if (ends) ending.push_back(request.get());
        if (ends && request->runs()) ++rule_of(*request).ended;
        if (request->connection == &chosen && !ends) ++unwanted_;
    }
    const size_t before = chronicle_.requests.size();
    device_->abandon(lane_of(*chosen.party));
    wait(*chosen.party);
    run_until_quiet();
    if (judge_.failed()) return;
    size_t unserved = 0;
    for (size_t i = before; i < chronicle_.requests.size(); ++i) {
        unserved += chronicle_.requests[i].error == ESHUTDOWN ? 1 : 0;
    }
    if (unserved != ending.size()) {
        judge_.fail(std::to_string(ending.size()) +
                    " requests of a client that has ended hung or waited, but " +
                    std::to_string(unserved) + " ended so");
    }
    if (chosen.out > 0 && chosen.lost) judge_.fail("a request of a client that has ended is left");
}

void GovernedLife::release() {
    if (judge_.failed()) return;
    switch (random_.below(4)) {
        case 0:
            end_client();
            break;
        case 1:
            note_hits();
            for (KnownRule& rule : chronicle_.rules) {
                rule.removed = std::min(rule.removed, timeline_.now());
            }
            device_->clear_faults();
            break;
        case 2:
            remove_rules(0, chronicle_.rules.size());
            break;
        default:
            return;  // they go on into the next phase
    }
    run_until_quiet();
    check_quiet();
}

void GovernedLife::complain(const std::string& wrong) {
    if (!wrong.empty()) judge_.fail(wrong);
}

void GovernedLife::check() {
    complain(check_obedience(chronicle_.settings, chronicle_.requests));
    complain(check_idle(chronicle_.settings, chronicle_.requests, governed_grace_ns));
    complain(check_models(chronicle_, governed_grace_ns));
    complain(check_rules(chronicle_));
    const kstat_io_t& io = device_->io();
    if (io.wcnt != 0 || io.rcnt != 0) judge_.fail("a queue is not empty at the end");
}

Outcome GovernedLife::run() {
    const uint64_t phases = random_.between(2, 6);
    for (uint64_t i = 0; i < phases && !judge_.failed(); ++i) {
        plan_phase();
        run_until_quiet();
        check_quiet();
        release();
        close_connections();
        run_until_quiet();
    }
    if (!judge_.failed()) {
        remove_rules(0, chronicle_.rules.size());
        run_until_quiet();
        if (!requests_.empty()) judge_.fail("requests are left though no rule is");
        close_connections();
    }
    if (!judge_.failed()) check();
    const std::string plan = "governed, " + std::to_string(parties_.size()) + " rings, " +
                             std::to_string(phases) + " phases, " +
                             std::to_string(chronicle_.settings.size() - 1) + " settings, " +
                             std::to_string(chronicle_.rules.size()) + " rules";
    if (!judge_.failed()) {
        for (auto& party : parties_) party->lane.reset();
        device_.reset();
        for (auto& party : parties_) party->ring.reset();
        if (kernel_.open_descriptors() > 0) judge_.fail("descriptors left open");
    }
    return {judge_.verdict(),
            timeline_.hash(),
            timeline_.happened(),
            done_,
            static_cast<unsigned>(parties_.size()),
            plan};
}

}  // namespace

Outcome live_governed(uint64_t seed, const Cuts& cuts) {
    GovernedLife life(seed, cuts);
    return life.run();
}

}  // namespace blkscope::simulation
