#include "device_life.hpp"

#include <algorithm>
#include <cassert>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "asker.hpp"
#include "blockdev/backing/file_backing.hpp"
#include "blockdev/backing/memory_backing.hpp"
#include "blockdev/device/device.hpp"
#include "client.hpp"
#include "simulated_clock.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t device_stream = 0x64657669;
constexpr uint64_t clients_stream = 0x636c6965;
constexpr uint64_t clocks_stream = 0x636c6f63;
constexpr uint64_t behaviour_stream = 0x62656861;
constexpr uint64_t keys = 4;
constexpr unsigned ring_entries = 64;
constexpr uint64_t device_turn_ns_max = 3'000;
constexpr hrtime_t limit_ns = 2'000'000'000;
constexpr uint64_t blocks_max = 24;
constexpr hrtime_t clocks_ns = 10'000'000;     // until the last step of a clock
constexpr hrtime_t iodone_ns_max = 1'000'000;  // from the end of a request to its iodone
constexpr hrtime_t served_ns_max =
    20'000'000;  // of one request, with what holds it and all its retries

// Each of these holds a request for some milliseconds at most.
Behaviour draw_behaviour(Random random, uint64_t device_bytes) {
    Behaviour behaviour;
    if (random.one_in(2)) behaviour.model = model::ModelSpec::parse("all=const:2ms", {});
    if (random.one_in(4)) behaviour.limits = model::LimitSpec::parse("iops=2000");
    if (random.one_in(4)) behaviour.client_limits = model::LimitSpec::parse("iops=1000");
    for (const char* const rule : {"all:hang=2ms;chance=1/3", "all:delay=const:2ms;every=3"}) {
        if (!random.one_in(3)) continue;
        behaviour.faults.push_back(model::FaultRule::parse(rule, device_bytes, {}));
    }
    behaviour.seed = random.next();
    return behaviour;
}

class DeviceLife {
  public:
    DeviceLife(uint64_t seed, const Cuts& cuts);
    ~DeviceLife();
    DeviceLife(const DeviceLife&) = delete;
    DeviceLife& operator=(const DeviceLife&) = delete;

    Outcome run();

  private:
    struct Party;

    struct Member : Asker {
        Party* party = nullptr;
        uint64_t key = 0;       // of the client; 0: the requests have none
        hrtime_t accepted = 0;  // when strategy() returned
        ConnectionFigures figures;
    };

    /// One ring, its lane, and the requesters on it.
    struct Party {
        DeviceLife* life = nullptr;
        unsigned ring_number = 0;
        std::unique_ptr<Ring> ring;
        std::unique_ptr<Lane> lane;
        std::vector<std::unique_ptr<Member>> askers;
        std::vector<Member*> ready;
        unsigned left = 0;  // requests to make
        bool begun = false;
    };

    void draw_clock(uint64_t seed, const Cuts& cuts);
    void make_device(Random& random);
    void drive(Party& party);
    void ask(Member& asker);
    void connect(Member& asker);
    void disconnect(Member& asker);
    void end_clients();
    void check_clients();
    static void done(Buf& buf);
    void judge(Member& asker);
    [[nodiscard]] std::string check_stamps(const Member& asker) const;
    void complain(const std::string& error);
    void check_order();
    void check_depth();

    Timeline timeline_;
    Judge judge_;
    Random random_;
    Random clients_random_;
    StartOrder order_ = StartOrder::arrival;
    ClockPlan clocks_;
    std::optional<Random> held_;  // of what holds requests; nothing holds any without
    bool limits_clients_ = false;
    SimulatedKernel kernel_;
    std::shared_ptr<SimulatedFile> file_;
    std::unique_ptr<Oracle> oracle_;
    std::vector<std::unique_ptr<Party>> parties_;
    std::unique_ptr<Device> device_;
    Stays stays_;
    unsigned out_ = 0;
    hrtime_t askers_ = 0;
    std::string plan_;
};

DeviceLife::DeviceLife(uint64_t seed, const Cuts& cuts)
    : random_(seed, device_stream),
      clients_random_(seed, clients_stream),
      kernel_(timeline_, seed) {
    if (clients_random_.one_in(3)) order_ = StartOrder::fair;
    draw_clock(seed, cuts);
    if (!cuts.no_faults && random_.one_in(2)) {
        kernel_.faults.short_transfer = random_.between(2, 20);
        kernel_.faults.interrupted = random_.between(5, 100);
        kernel_.faults.short_submit = random_.between(2, 20);
        kernel_.faults.write_error = random_.one_in(2) ? random_.between(10, 100) : 0;
        kernel_.faults.read_error = random_.one_in(2) ? random_.between(10, 100) : 0;
    }
    kernel_.disk.ns_max = static_cast<hrtime_t>(random_.between(2'000, 200'000));
    const auto rings = static_cast<unsigned>(random_.between(1, 3));
    for (unsigned i = 0; i < std::min(rings, cuts.workers_max); ++i) {
        auto party = std::make_unique<Party>();
        party->life = this;
        party->ring_number = kernel_.rings();
        party->ring = std::make_unique<Ring>(ring_entries, false, kernel_);
        party->left = std::min(static_cast<unsigned>(random_.between(20, 150)), cuts.requests_max);
        const uint64_t askers = random_.between(1, 8);
        askers_ += static_cast<hrtime_t>(askers);
        for (uint64_t j = 0; j < askers; ++j) {
            party->askers.push_back(std::make_unique<Member>());
            party->askers.back()->party = party.get();
            party->askers.back()->key = clients_random_.below(keys + 1);
            party->ready.push_back(party->askers.back().get());
        }
        kernel_.when_ready(party->ring_number, [this, at = party.get()] { drive(*at); });
        parties_.push_back(std::move(party));
    }
    make_device(random_);
}

// A step of the clock concerns most the requests that a model, a limit or a fault holds.
void DeviceLife::draw_clock(uint64_t seed, const Cuts& cuts) {
    if (!cuts.no_clocks) {
        clocks_ = draw_clocks(Random(seed, clocks_stream), timeline_.now(), clocks_ns);
    }
    kernel_.clock.set_plan(clocks_, seed);
    Random random(seed, behaviour_stream);
    if (random.one_in(8) || !clocks_.steps.empty()) held_ = random;
}

// After a failure the objects cannot be destroyed in order.
DeviceLife::~DeviceLife() {
    if (!judge_.failed()) return;
    for (auto& party : parties_) static_cast<void>(party.release());
    static_cast<void>(device_.release());
}

void DeviceLife::make_device(Random& random) {
    const uint64_t bytes = page_bytes * random.between(4, 64);
    const std::vector<std::byte> content(bytes);
    std::unique_ptr<Backing> backing;
    if (random.one_in(4)) {
        backing = std::make_unique<MemoryBacking>(bytes);
    } else {
        file_ = std::make_shared<SimulatedFile>(content);
        OpenFile open;
        open.name = "simulated";
        open.fd = kernel_.open_file(file_);
        open.witness = kernel_.open_file(file_);
        open.flusher = kernel_.open_file(file_);
        open.confirmer = kernel_.open_file(file_);
        open.size_bytes = bytes;
        open.regular = true;
        open.direct = random.one_in(2);
        open.block_bytes = sector_bytes;
        backing = std::make_unique<FileBacking>(open, kernel_);
    }
    oracle_ = std::make_unique<Oracle>(content);
    if (file_) oracle_->watch(file_->disk());
    static constexpr uint32_t depths[] = {1, 2, 3, 8, 64};
    const uint32_t depth = depths[random.below(5)];
    plan_ = std::string(file_ ? "file" : "memory") + ", " + std::to_string(bytes / page_bytes) +
            " pages, depth " + std::to_string(depth) + ", " + std::to_string(parties_.size()) +
            " rings" + (order_ == StartOrder::fair ? ", fair" : "") + (held_ ? ", held" : "") +
            clocks_.text();
    DeviceOptions options{.queue_depth = depth, .order = order_, .client_stats = 2};
    if (held_) options.behaviour = draw_behaviour(*held_, bytes);
    limits_clients_ = options.behaviour.client_limits.has_value();
    device_ = std::make_unique<Device>(*parties_[0]->ring, std::move(backing), std::nullopt,
                                       std::move(options));
}

Outcome DeviceLife::run() {
    for (auto& party : parties_) drive(*party);
    const auto all_done = [&] {
        return out_ == 0 && std::all_of(parties_.begin(), parties_.end(),
                                        [](const auto& party) { return party->left == 0; });
    };
    hrtime_t since = timeline_.now();
    size_t seen = 0;
    while (!judge_.failed() && !all_done()) {
        if (!timeline_.step()) judge_.fail("no more events, but requests are not done");
        if (stays_.all().size() != seen) since = timeline_.now();
        seen = stays_.all().size();
        if (timeline_.now() - since > limit_ns) judge_.fail("a request is not done");
    }
    if (!judge_.failed()) {
        complain(stays_.check(device_->io()));
        end_clients();
        check_clients();
        check_order();
        check_depth();
    }
    if (!judge_.failed()) {
        for (size_t i = 1; i < parties_.size(); ++i) parties_[i]->lane.reset();
        device_.reset();
        for (auto& party : parties_) party->ring.reset();
        if (kernel_.open_descriptors() > 0) judge_.fail("descriptors left open");
    }
    return {judge_.verdict(),
            timeline_.hash(),
            timeline_.happened(),
            stays_.all().size(),
            static_cast<unsigned>(parties_.size()),
            plan_};
}

void DeviceLife::drive(Party& party) {
    if (judge_.failed()) return;
    const SimulatedClock::Running running(kernel_.clock, party.ring_number + 1);
    if (!party.begun) {
        party.begun = true;
        party.ring->enable();
        if (party.ring_number > 0) party.lane = device_->open_lane(*party.ring);
    } else {
        party.ring->dispatch();
    }
    const std::vector<Member*> ready = std::exchange(party.ready, {});
    for (Member* asker : ready) {
        if (party.left == 0) break;
        --party.left;
        ask(*asker);
    }
    timeline_.spend(static_cast<hrtime_t>(random_.between(1, device_turn_ns_max)));
    const bool rests = party.ready.empty();
    party.ring->wait(rests || party.left == 0);
    if (kernel_.asleep(party.ring_number)) return;
    timeline_.after(static_cast<hrtime_t>(random_.between(1, device_turn_ns_max)),
                    [this, &party] { drive(party); });
}

// Askers with one key are connections of one client, which come and go.
void DeviceLife::connect(Member& asker) {
    if (asker.key == 0 || asker.client != nullptr) return;
    Party& party = *asker.party;
    Lane& lane = party.lane ? *party.lane : device_->first_lane();
    asker.client = &lane.open_client({.key = std::to_string(asker.key)}, asker.figures);
}

void DeviceLife::disconnect(Member& asker) {
    if (asker.client == nullptr) return;
    Party& party = *asker.party;
    Lane& lane = party.lane ? *party.lane : device_->first_lane();
    lane.close_client(*std::exchange(asker.client, nullptr), asker.figures);
}

void DeviceLife::end_clients() {
    for (auto& party : parties_) {
        for (auto& asker : party->askers) disconnect(*asker);
        party->ring->unlock();
    }
}

void DeviceLife::ask(Member& asker) {
    if (clients_random_.one_in(16)) disconnect(asker);
    connect(asker);
    asker.draw(random_, *oracle_, timeline_.now(), blocks_max);
    asker.iodone = done;
    ++out_;
    Party& party = *asker.party;
    device_->strategy(asker, party.lane ? *party.lane : device_->first_lane());
    asker.accepted = timeline_.now();
}

void DeviceLife::done(Buf& buf) {
    auto& asker = static_cast<Member&>(buf);
    asker.party->life->judge(asker);
    asker.party->ready.push_back(&asker);
}

void DeviceLife::judge(Member& asker) {
    --out_;
    timeline_.note(static_cast<uint64_t>(asker.error));
    timeline_.note(static_cast<uint64_t>(asker.finished));
    complain(stays_.add(asker, asker.key));
    complain(check_stamps(asker));
    complain(asker.judge(*oracle_, timeline_.now()));
    if (asker.error != 0 && kernel_.other_failures + kernel_.interruptions == 0) {
        judge_.fail("a request failed without a fault");
    }
}

// The true time of each event is known, and the stamps may differ from it as far as the clocks do. All other requests
// may be served before this one.
std::string DeviceLife::check_stamps(const Member& asker) const {
    const hrtime_t wrong = clocks_.wrong_ns_max();
    const hrtime_t now = timeline_.now();
    if (asker.queued < asker.made - wrong || asker.queued > asker.accepted + wrong) {
        return "a request was queued at " + std::to_string(asker.made) + ", and its stamp is " +
               std::to_string(asker.queued);
    }
    if (asker.finished > now + wrong || asker.finished < now - wrong - iodone_ns_max) {
        return "a request ended at " + std::to_string(now) + ", and its stamp is " +
               std::to_string(asker.finished);
    }
    const hrtime_t longest = (askers_ + 2) * served_ns_max + wrong + iodone_ns_max;
    return now - asker.made <= longest ? ""
                                       : "a request took " + std::to_string(now - asker.made) +
                                             " ns, more than " + std::to_string(longest);
}

void DeviceLife::complain(const std::string& error) {
    if (!error.empty()) judge_.fail(error);
}

// All clients have closed, and others have their counts.
void DeviceLife::check_clients() {
    kstat_io_t sum{};
    for (const kstat_io_t* io : device_->first_lane().client_counters()) {
        sum.wlentime += io->wlentime;
        sum.rlentime += io->rlentime;
        sum.reads += io->reads;
        sum.writes += io->writes;
        if (io->wcnt != 0 || io->rcnt != 0) judge_.fail("a client's queue is not empty");
    }
    hrtime_t waited = 0;
    hrtime_t ran = 0;
    uint64_t done = 0;
    for (const Stay& stay : stays_.all()) {
        if (stay.key == 0 || !stay.counts()) continue;
        waited += stay.started - stay.queued;
        ran += stay.finished - stay.started;
        ++done;
    }
    if (sum.wlentime != waited || sum.rlentime != ran || sum.reads + sum.writes != done) {
        judge_.fail("the clients' times are not their requests' stays");
    }
}

// In fair order each client has an order of its own.
// Flushes that wait for a running flush keep the order, too: all start when it has ended.
void DeviceLife::check_order() {
    if (limits_clients_) return;
    std::vector<Stay> stays = stays_.all();
    std::erase_if(stays, [](const Stay& stay) { return stay.op == Buf::Op::flush; });
    std::sort(stays.begin(), stays.end(), [&](const Stay& a, const Stay& b) {
        if (order_ == StartOrder::fair && a.key != b.key) return a.key < b.key;
        return a.queued < b.queued;
    });
    for (size_t i = 1; i < stays.size(); ++i) {
        const bool later = stays[i].queued > stays[i - 1].queued &&
                           (order_ == StartOrder::arrival || stays[i].key == stays[i - 1].key);
        if (later && stays[i].started < stays[i - 1].started) {
            return judge_.fail("a request started before an earlier one");
        }
    }
}

void DeviceLife::check_depth() {
    std::vector<std::pair<hrtime_t, int>> changes;
    for (const Stay& stay : stays_.all()) {
        if (stay.op == Buf::Op::flush) continue;
        changes.emplace_back(stay.started, 1);
        changes.emplace_back(stay.finished, -1);
    }
    std::sort(changes.begin(), changes.end());
    int64_t running = 0;
    for (const auto& [when, change] : changes) {
        running += change;
        if (running > static_cast<int64_t>(device_->queue_depth())) {
            return judge_.fail("more requests ran than the depth");
        }
    }
}

}  // namespace

Outcome live_device(uint64_t seed, const Cuts& cuts) {
    DeviceLife life(seed, cuts);
    return life.run();
}

}  // namespace blkscope::simulation
