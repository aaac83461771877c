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
#include "governor.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t governed_stream = 0x676f7665;
constexpr uint64_t governed_rare_stream = 0x72617265;
constexpr uint64_t governed_pages = 32;
constexpr size_t governed_extents_max = 4;
constexpr uint64_t governed_blocks_max = 24;
constexpr uint64_t governed_keys = 4;
constexpr uint64_t governed_turn_ns_max = 2'000;
constexpr hrtime_t governed_us = 1'000;
// A worker's turn, its messages to others, and its timers.
constexpr hrtime_t governed_grace_ns = 60 * governed_us;

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
        std::array<Extent, governed_extents_max> extent_room;

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
    void make_rare(Request& request);
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
    Random rare_;
    SimulatedKernel kernel_;
    Oracle oracle_;
    const Cuts& cuts_;
    std::vector<std::unique_ptr<Party>> parties_;
    std::unique_ptr<Device> device_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<std::unique_ptr<Request>> requests_;  // under way
    Governor governor_{timeline_, judge_};
    uint64_t done_ = 0;
    uint64_t unwanted_ = 0;  // requests that are served for nobody, and that no rule lets hang
    StartOrder order_ = StartOrder::arrival;
};

GovernedLife::GovernedLife(uint64_t seed, const Cuts& cuts)
    : random_(seed, governed_stream),
      rare_(seed, governed_rare_stream),
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
    governor_.begin(depth);
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
    request->choose(random_, oracle_.bytes(), governed_blocks_max);
    make_rare(*request);
    request->begin(oracle_, timeline_.now());
    request->iodone = done;
    ++connection.out;
    Buf& buf = *request;
    requests_.push_back(std::move(request));
    device_->strategy(buf, lane_of(*connection.party));
    wait(*connection.party);
}

/// Some reads are requests that move no data.
void GovernedLife::make_rare(Request& request) {
    if (request.op != Buf::Op::read || !rare_.one_in(4)) return;
    request.op = rare_.one_in(2) ? Buf::Op::cache : Buf::Op::block_status;
    if (request.op == Buf::Op::block_status) request.extents = ExtentList(request.extent_room);
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
    governor_.record(
        request, static_cast<uint32_t>(request.client == nullptr ? 0 : request.connection->key));
    const auto found =
        std::ranges::find_if(requests_, [&](const auto& each) { return each.get() == &request; });
    assert(found != requests_.end());
    timeline_.after(0, [gone = std::shared_ptr<Request>(std::move(*found))] {});
    requests_.erase(found);
}

// ---- Changes ----

void GovernedLife::change_one() {
    switch (random_.below(10)) {
        case 0:
        case 1:
            return governor_.change_model(*device_, random_);
        case 2:
        case 3:
            return governor_.change_limits(*device_, random_, false);
        case 4:
            return governor_.change_limits(*device_, random_, true);
        case 5:
            return governor_.change_depth(*device_, random_);
        case 6:
            return governor_.change_order(*device_, random_);
        case 7: {
            const size_t rules = governor_.chronicle().rules.size();
            if (rules == 0) return governor_.add_rule(*device_, random_);
            const size_t which = random_.below(rules);
            return governor_.remove_rules(*device_, which, which + 1);
        }
        default:
            return governor_.add_rule(*device_, random_);
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
    governor_.note_hits(*device_);
    uint64_t hung = 0;
    for (const KnownRule& rule : governor_.chronicle().rules) {
        const bool holds = rule.kind == KnownRule::Kind::hang && rule.ns == 0;
        if (holds && rule.removed > timeline_.now()) hung += rule.hits - rule.ended;
    }
    uint64_t running = 0;
    for (const auto& request : requests_) running += request->runs() ? 1 : 0;
    if (running > hung || running + unwanted_ < hung) {
        judge_.fail(std::to_string(running) + " requests run in a quiet device, of which " +
                    std::to_string(hung) + " should hang");
    }
    if (running < requests_.size() && running < governor_.chronicle().settings.back().depth) {
        judge_.fail("requests wait in a quiet device with a free place");
    }
}

/// The rule that lets the request hang.
KnownRule& GovernedLife::rule_of(const Request& request) {
    assert(request.plan != nullptr && request.plan->fault);
    const auto found =
        std::ranges::find(governor_.chronicle().rules, request.plan->fault->rule, &KnownRule::id);
    assert(found != governor_.chronicle().rules.end());
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
    const size_t before = governor_.chronicle().requests.size();
    device_->abandon(lane_of(*chosen.party));
    wait(*chosen.party);
    run_until_quiet();
    if (judge_.failed()) return;
    size_t unserved = 0;
    for (size_t i = before; i < governor_.chronicle().requests.size(); ++i) {
        unserved += governor_.chronicle().requests[i].error == ESHUTDOWN ? 1 : 0;
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
            governor_.clear_rules(*device_);
            break;
        case 2:
            governor_.remove_all_rules(*device_);
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
    governor_.check({.wake_ns = governed_grace_ns});
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
        if (!cuts_.no_changes && rare_.one_in(3)) {  // also of clients that are not there
            governor_.change_limits(*device_, rare_, true);
        }
        run_until_quiet();
    }
    if (!judge_.failed()) {
        governor_.remove_all_rules(*device_);
        run_until_quiet();
        if (!requests_.empty()) judge_.fail("requests are left though no rule is");
        close_connections();
    }
    if (!judge_.failed()) check();
    const std::string plan =
        "governed, " + std::to_string(parties_.size()) + " rings, " + std::to_string(phases) +
        " phases, " + std::to_string(governor_.chronicle().settings.size() - 1) + " settings, " +
        std::to_string(governor_.chronicle().rules.size()) + " rules";
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
