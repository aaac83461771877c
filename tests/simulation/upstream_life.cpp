#include "upstream_life.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blockdev/device/device.hpp"
#include "client.hpp"
#include "driver/nbd/client/upstream_backing.hpp"
#include "governor.hpp"
#include "other_server.hpp"
#include "simulated_dialer.hpp"
#include "simulated_kernel.hpp"
#include "upstream_asker.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t upstream_stream = 0x75707374;
constexpr uint64_t server_stream = 0x6f746872;
constexpr uint64_t trouble_stream = 0x74726f75;
constexpr uint64_t wire_stream = 0x77697265;
constexpr uint64_t connections_stream = 0x636f6e6e;
constexpr uint64_t terms_stream = 0x7465726d;
constexpr uint64_t govern_stream = 0x676f7665;
constexpr unsigned upstream_ring_entries = 64;
constexpr uint64_t upstream_turn_ns_max = 3'000;
constexpr hrtime_t us_ns = 1'000;
constexpr hrtime_t ms_ns = 1'000'000;
constexpr hrtime_t second_ns = 1'000'000'000;
constexpr uint64_t upstream_blocks_max = 24;
constexpr hrtime_t upstream_wake_ns = 60 * us_ns;
constexpr hrtime_t changes_ns_max = second_ns;
constexpr hrtime_t delivery_ns = ms_ns;  // from the backing's answer to its session

hrtime_t draw_ns(Random& random, hrtime_t least, hrtime_t most) {
    return static_cast<hrtime_t>(
        random.between(static_cast<uint64_t>(least), static_cast<uint64_t>(most)));
}

std::chrono::milliseconds to_ms(hrtime_t ns) {
    return std::chrono::milliseconds(ns / ms_ns);
}

// Half of the lives have one connection at a time.
unsigned draw_connections(Random random) {
    return random.one_in(2) ? 1 : static_cast<unsigned>(random.between(2, 4));
}

class UpstreamLife {
  public:
    UpstreamLife(uint64_t seed, const Cuts& cuts);
    ~UpstreamLife();
    UpstreamLife(const UpstreamLife&) = delete;
    UpstreamLife& operator=(const UpstreamLife&) = delete;

    Outcome run();

  private:
    struct Place;

    struct Member : UpstreamAsker {
        UpstreamLife* life = nullptr;
        Place* place = nullptr;
        uint64_t losses = 0;    // the backing's, when the request was made
        bool owed = false;      // its session was not told all of them
        uint64_t failures = 0;  // of its session, when the request was made
        bool in_vain = false;   // the server had come back different
    };

    /// One session after the other, each with a few requests at a time.
    struct Place {
        std::vector<std::unique_ptr<Member>> members;
        std::vector<Member*> waiting;  // for the next session
        unsigned left = 0;             // requests to make
        unsigned out = 0;
        uint64_t failures = 0;  // flushes and FUA requests with EIO, of all its sessions
        // Of the present session.
        unsigned session_left = 0;
        uint64_t losses_seen = 0;
        hrtime_t lost_at = 0;  // acknowledged data is lost since, and the session was not told
    };

    void make_places(const Cuts& cuts);
    void open_session(Place& place);
    [[nodiscard]] bool is_connected() const {
        return backing_->figures().state() == nbd::UpstreamKstat::State::connected;
    }
    void drive();
    void ask(Member& member);
    void ready_later(Member& member);
    static void done(Buf& buf);
    void judge(Member& member);
    void draw_terms(OtherPlan& plan, uint64_t seed);
    [[nodiscard]] std::string check_request(const nbd::Request& request, size_t under_way) const;
    bool judge_told(const Member& member);
    void judge_success(const Member& member);
    void judge_failure(const Member& member);
    void note_flushed(const Member& member);
    void complain(const std::string& error);
    void look_at_losses();
    [[nodiscard]] bool is_in_pieces(const Member& member) const;
    [[nodiscard]] bool has_pieces_out() const;
    [[nodiscard]] hrtime_t wait_allowed(const Member& member) const;
    void check_waits();
    void govern(OtherPlan& plan);
    void plan_changes();
    void change_one();
    void plan_trouble();
    void make_trouble();
    void stop();
    void restart(bool keeps_memory);
    void end();

    Timeline timeline_;
    Judge judge_;
    Random random_;
    Random troubles_random_;
    const hrtime_t timeout_ns_;
    const hrtime_t settle_ns_;
    const bool resends_;
    const unsigned connections_;
    SimulatedKernel kernel_;
    Random terms_random_;
    bool wide_ = false;            // the other server has terms of its own
    hrtime_t flushes_end_ns_ = 0;  // when it begins to refuse flushes; 0: never
    hrtime_t sync_failed_at_ = 0;  // our device knows of a refused flush
    std::unique_ptr<OtherServer> server_;
    std::unique_ptr<Oracle> oracle_;
    std::unique_ptr<Ring> ring_;
    nbd::UpstreamBacking* backing_ = nullptr;  // the device's
    std::unique_ptr<Device> device_;
    std::vector<std::unique_ptr<Place>> places_;
    std::vector<Member*> ready_;
    Stays stays_;
    unsigned out_ = 0;
    Random govern_random_;
    Governor governor_{timeline_, judge_};
    unsigned changes_ = 0;   // of the device's settings
    bool models_ = false;    // among them; then there are no troubles
    unsigned troubles_ = 0;  // to come
    bool forgets_ = false;   // restarts may lose the memory
    bool changed_ = false;   // the server has another size
    bool begun_ = false;
    hrtime_t think_ns_max_ = 0;
    hrtime_t wait_ns_max_ = 0;
    hrtime_t counted_at_ = 0;          // the last loss
    uint64_t losses_ = 0;              // the backing's, as last seen
    std::vector<hrtime_t> unflushed_;  // when writes were acknowledged
    std::string plan_;
};

UpstreamLife::UpstreamLife(uint64_t seed, const Cuts& cuts)
    : random_(seed, upstream_stream),
      troubles_random_(seed, trouble_stream),
      timeout_ns_(static_cast<hrtime_t>(random_.between(1, 8)) * second_ns),
      settle_ns_(static_cast<hrtime_t>(random_.between(1, 10)) * 100 * ms_ns),
      resends_(!random_.one_in(5)),
      connections_(draw_connections(Random(seed, connections_stream))),
      kernel_(timeline_, seed),
      terms_random_(seed, terms_stream),
      govern_random_(seed, govern_stream) {
    if (!cuts.no_faults && random_.one_in(2)) {
        kernel_.faults.short_transfer = random_.between(2, 20);
        kernel_.faults.interrupted = random_.between(5, 100);
        kernel_.faults.short_submit = random_.between(2, 20);
    }
    troubles_ = std::min(static_cast<unsigned>(troubles_random_.between(1, 8)), cuts.troubles_max);
    forgets_ = !cuts.no_crash;
    OtherPlan plan;
    plan.bytes = page_bytes * random_.between(2, 32);
    plan.run_ns_max = draw_ns(random_, 10 * us_ns, 2 * ms_ns);
    plan.late_ns_max = settle_ns_ * 4 / 5;
    plan.silent_ns = timeout_ns_ + second_ns;
    plan.silent_one_in = random_.one_in(3) ? random_.between(20, 100) : 0;
    draw_terms(plan, seed);
    if (!cuts.no_changes) govern(plan);
    server_ = std::make_unique<OtherServer>(timeline_, judge_, Random(seed, server_stream), plan);
    server_->check_request = [this](const nbd::Request& request, size_t under_way) {
        return check_request(request, under_way);
    };
    oracle_ = std::make_unique<Oracle>(server_->memory());
    ring_ = std::make_unique<Ring>(upstream_ring_entries, false, kernel_);
    kernel_.when_ready(0, [this] { drive(); });
    auto dialer = std::make_unique<SimulatedDialer>(timeline_, kernel_, *server_,
                                                    Random(seed, wire_stream), connections_);
    auto backing = std::make_unique<nbd::UpstreamBacking>(
        "upstream", std::move(dialer), lost_connection(*server_),
        UpstreamOptions{
            .timeout = to_ms(timeout_ns_), .settle = to_ms(settle_ns_), .resend = resends_});
    backing_ = backing.get();
    static constexpr uint32_t depths[] = {2, 8, 64};
    device_ = std::make_unique<Device>(*ring_, std::move(backing), std::nullopt,
                                       DeviceOptions{.queue_depth = depths[random_.below(3)]});
    governor_.begin(device_->queue_depth());
    make_places(cuts);
}

// After a failure the objects cannot be destroyed in order.
UpstreamLife::~UpstreamLife() {
    if (!judge_.failed()) return;
    static_cast<void>(device_.release());
    static_cast<void>(ring_.release());
}

void UpstreamLife::make_places(const Cuts& cuts) {
    if (!random_.one_in(3)) think_ns_max_ = draw_ns(random_, ms_ns, second_ns);
    const uint64_t places = random_.between(1, 4);
    unsigned members = 0;
    for (unsigned i = 0; i < places; ++i) {
        const auto requests = static_cast<unsigned>(random_.between(20, 120));
        const uint64_t count = random_.between(1, 4);
        if (cuts.clients.contains(i)) continue;
        Place& place = *places_.emplace_back(std::make_unique<Place>());
        place.left = std::min(requests, cuts.requests_max);
        open_session(place);
        for (uint64_t j = 0; j < count; ++j, ++members) {
            place.members.push_back(std::make_unique<Member>());
            place.members.back()->life = this;
            place.members.back()->place = &place;
            ready_.push_back(place.members.back().get());
        }
    }
    // A request waits for those before it, a flush also for the flush under way.
    const auto turns =
        static_cast<hrtime_t>((changes_ > 0 ? members : members / device_->queue_depth()) + 2);
    wait_ns_max_ = turns * (2 * timeout_ns_ + 2 * second_ns);
    plan_ = "upstream, " + std::to_string(oracle_->bytes() / page_bytes) + " pages, depth " +
            std::to_string(device_->queue_depth()) + ", " + std::to_string(members) +
            " requesters in " + std::to_string(places_.size()) + " sessions, " +
            std::to_string(connections_) + " connections, " + std::to_string(troubles_) +
            " troubles" + (resends_ ? "" : ", no resends");
    if (changes_ > 0) {
        plan_ += ", " + std::to_string(changes_) + " changes" + (models_ ? " with models" : "");
    }
    if (wide_) plan_ += "; " + server_->terms().describe();
}

// In the other half of the lives the server offers what most do, and refuses nothing.
void UpstreamLife::draw_terms(OtherPlan& plan, uint64_t seed) {
    plan.seed = seed;
    wide_ = terms_random_.one_in(2);
    if (!wide_) return;
    plan.terms = OtherTerms::draw(terms_random_, plan.bytes, connections_ > 1);
    if (terms_random_.one_in(6)) flushes_end_ns_ = draw_ns(terms_random_, ms_ns, 300 * ms_ns);
}

// ---- Requests ----

void UpstreamLife::open_session(Place& place) {
    assert(place.out == 0);
    place.session_left = static_cast<unsigned>(random_.between(2, 40));
    place.losses_seen = backing_->losses();
    place.lost_at = 0;
}

void UpstreamLife::drive() {
    if (judge_.failed()) return;
    if (begun_) {
        ring_->dispatch();
    } else {
        ring_->enable();
    }
    begun_ = true;
    for (Member* const member : std::exchange(ready_, {})) ask(*member);
    timeline_.spend(draw_ns(random_, 1, upstream_turn_ns_max));
    ring_->wait(ready_.empty());
    if (kernel_.asleep(0)) return;
    timeline_.after(draw_ns(random_, 1, upstream_turn_ns_max), [this] { drive(); });
}

void UpstreamLife::ask(Member& member) {
    Place& place = *member.place;
    if (place.left == 0) return;
    if (place.session_left == 0) {
        if (place.out > 0) return place.waiting.push_back(&member);
        open_session(place);
    }
    --place.left;
    --place.session_left;
    ++place.out;
    ++out_;
    member.choose(random_, oracle_->bytes(), upstream_blocks_max);
    if (wide_) member.widen(terms_random_, server_->terms(), oracle_->bytes());
    member.begin(*oracle_, timeline_.now());
    member.iodone = done;
    member.losses_seen = &place.losses_seen;
    member.losses = backing_->losses();
    member.owed = place.losses_seen < member.losses;
    member.failures = place.failures;
    member.in_vain = backing_->must_be_reopened();
    device_->strategy(member);
}

void UpstreamLife::ready_later(Member& member) {
    const bool thinks = think_ns_max_ > 0 && random_.one_in(8);
    timeline_.after(draw_ns(random_, 1, thinks ? think_ns_max_ : 50 * us_ns), [this, &member] {
        if (judge_.failed()) return;
        ready_.push_back(&member);
        ring_->wake();
    });
}

void UpstreamLife::done(Buf& buf) {
    auto& member = static_cast<Member&>(buf);
    member.life->judge(member);
    member.life->ready_later(member);
}

// ---- The checks ----

void UpstreamLife::complain(const std::string& error) {
    if (!error.empty()) judge_.fail(error);
}

void UpstreamLife::judge(Member& member) {
    Place& place = *member.place;
    --out_;
    --place.out;
    if (place.out == 0) {
        for (Member* const waiting : std::exchange(place.waiting, {})) ready_later(*waiting);
    }
    timeline_.note(static_cast<uint64_t>(member.error));
    timeline_.note(static_cast<uint64_t>(member.finished));
    // A request of parts of blocks never enters the device.
    const bool entered = member.offset % device_->backing().block_bytes() == 0 &&
                         member.bcount % device_->backing().block_bytes() == 0;
    if (entered) {
        complain(stays_.add(member, 0));
        governor_.record(member, 0);
    }
    complain(member.judge(*oracle_, timeline_.now()));
    if (member.error == 0)
        complain(member.check_lists(server_->terms(), *oracle_, timeline_.now()));
    if (!judge_told(member)) {
        member.error == 0 ? judge_success(member) : judge_failure(member);
    }
    // Of a write in pieces some may be done.
    if (member.error != 0 && is_in_pieces(member)) unflushed_.push_back(timeline_.now());
    if (member.error == 0 || !member.must_be_stable()) return;
    ++place.failures;
    place.lost_at = 0;
}

// What the other server gets is a request of one of our requesters, or a piece of it.
std::string UpstreamLife::check_request(const nbd::Request& request, size_t under_way) const {
    if (under_way > governor_.chronicle().depth_max())
        return "more requests than the device's depth";
    for (const auto& place : places_) {
        for (const auto& member : place->members) {
            if (member->out && is_piece_of(server_->terms(), request, member->asked())) return {};
        }
    }
    return "a request that nobody made";
}

// True for a failure that must be. The other server's error comes as it is, and so does its refusal of a flush,
// which holds from then on.
bool UpstreamLife::judge_told(const Member& member) {
    const bool flush = member.op == Buf::Op::flush;
    const int must = flush ? 0 : static_cast<int>(server_->terms().told(member.asked()));
    const bool late = sync_failed_at_ > 0 && member.made > sync_failed_at_;
    if (member.error == 0) {
        if (must != 0) judge_.fail("a request succeeded that the other server refuses");
        if (late && member.must_be_stable()) judge_.fail("a flush succeeded after a failed one");
        return false;
    }
    if (member.error == must) return true;
    const bool refused = member.must_be_stable() && server_->flush_refused_at() > 0 &&
                         member.error == static_cast<int>(server_->terms().flush_error);
    if (refused && flush && sync_failed_at_ == 0) sync_failed_at_ = timeline_.now();
    if (refused) return true;
    if (member.error != EIO) {
        judge_.fail("error " + std::to_string(member.error) + ", but the other server's is " +
                    std::to_string(must));
    }
    return false;
}

// Of two requests of a session at a time, one is told a loss. Its answer may come second.
void UpstreamLife::judge_success(const Member& member) {
    const Place& place = *member.place;
    const bool without_server =
        member.op == Buf::Op::block_status && server_->terms().ends_here(member.asked());
    if (member.in_vain && !without_server) {
        judge_.fail("a request succeeded on a server that came back different");
    }
    if (member.op == Buf::Op::flush) note_flushed(member);
    if (member.op != Buf::Op::flush && member.write != 0 && !member.fua && !member.through) {
        unflushed_.push_back(timeline_.now());
    }
    const bool lost = place.lost_at > 0 && member.made > place.lost_at;
    if (!member.must_be_stable() || !(member.owed || (lost && member.op == Buf::Op::flush))) return;
    timeline_.after(delivery_ns, [this, &place, failures = member.failures] {
        if (place.failures == failures) judge_.fail("a session was not told a loss");
    });
}

void UpstreamLife::note_flushed(const Member& member) {
    std::erase_if(unflushed_, [&](hrtime_t acknowledged) { return acknowledged < member.made; });
}

void UpstreamLife::judge_failure(const Member& member) {
    if (changed_ || timeline_.now() - member.made >= timeout_ns_) return;
    if (member.must_be_stable() && (member.owed || backing_->losses() > member.losses)) return;
    if (!resends_ && member.write != 0 && !is_connected()) return;
    judge_.fail(std::string("a ") + Buf::name_of(member.op) + " failed without a reason");
}

// A loss is counted only if something may be lost. Its last answers may still be on their way.
void UpstreamLife::look_at_losses() {
    if (backing_->losses() == losses_) return;
    losses_ = backing_->losses();
    counted_at_ = timeline_.now();
    timeline_.after(delivery_ns, [this, pieces = has_pieces_out()] {
        if (unflushed_.empty() && !pieces) {
            judge_.fail("a loss was counted, but all was flushed");
        }
        unflushed_.clear();
    });
}

bool UpstreamLife::is_in_pieces(const Member& member) const {
    return member.op == Buf::Op::write && !member.fua && !member.through &&
           member.bcount > server_->terms().piece_bytes_max();
}

bool UpstreamLife::has_pieces_out() const {
    return std::ranges::any_of(places_, [&](const auto& place) {
        return std::ranges::any_of(place->members, [&](const auto& member) {
            return member->out && is_in_pieces(*member);
        });
    });
}

// Each piece of a request may wait for the server.
hrtime_t UpstreamLife::wait_allowed(const Member& member) const {
    const bool in_pieces = member.op == Buf::Op::read || member.op == Buf::Op::write;
    const uint64_t most = server_->terms().piece_bytes_max();
    const uint64_t pieces = in_pieces ? (member.bcount + most - 1) / most : 1;
    return wait_ns_max_ * static_cast<hrtime_t>(pieces);
}

void UpstreamLife::check_waits() {
    const hrtime_t now = timeline_.now();
    for (const auto& place : places_) {
        for (const auto& member : place->members) {
            if (!member->out || now - member->made <= wait_allowed(*member)) continue;
            return judge_.fail(std::string("a ") + Buf::name_of(member->op) + " is not done");
        }
    }
}

// ---- Changes of the device's settings ----

// A model holds answers back that the other server has given. So what a lost connection has lost is known only
// without models.
void UpstreamLife::govern(OtherPlan& plan) {
    if (!govern_random_.one_in(2)) return;
    changes_ = static_cast<unsigned>(govern_random_.between(1, 8));
    models_ = govern_random_.one_in(3);
    if (!models_) return;
    troubles_ = 0;
    plan.silent_one_in = plan.terms.wrong_cookie_one_in = 0;
}

void UpstreamLife::plan_changes() {
    for (unsigned i = 0; i < changes_; ++i) {
        timeline_.after(draw_ns(govern_random_, 1, changes_ns_max), [this] { change_one(); });
    }
}

void UpstreamLife::change_one() {
    if (judge_.failed()) return;
    switch (govern_random_.below(models_ ? 6 : 3)) {
        case 0:
            return governor_.change_depth(*device_, govern_random_);
        case 3:
            return governor_.change_model(*device_, govern_random_);
        case 4:
            return governor_.add_delay(*device_, govern_random_);
        case 5:
            return governor_.remove_all_rules(*device_);
        default:
            return governor_.change_limits(*device_, govern_random_, false);
    }
}

// ---- Troubles ----

void UpstreamLife::plan_trouble() {
    if (troubles_ == 0) return;
    --troubles_;
    const bool soon = !troubles_random_.one_in(3);
    const hrtime_t most = soon ? 200 * ms_ns : 4 * second_ns;
    timeline_.after(draw_ns(troubles_random_, 1, most), [this] {
        if (judge_.failed()) return;
        make_trouble();
        plan_trouble();
    });
}

void UpstreamLife::make_trouble() {
    switch (troubles_random_.below(12)) {
        case 0:
        case 1:
        case 2:
            if (connections_ > 1) return server_->close_one_connection();
            return server_->close_connections();
        case 3:
        case 4:
        case 5:
        case 6:
            return restart(false);
        case 7:
            return restart(true);
        case 8:
        case 9:
            return stop();
        case 10:
            return troubles_random_.one_in(2) ? server_->shut_down() : server_->talk_nonsense();
        default:
            if (troubles_ > 0) return server_->close_connections();
            changed_ = true;
            server_->change_size();
            return server_->close_connections();
    }
}

// Often for about the timeout. Sometimes for so long that a request without a limit is noticed.
void UpstreamLife::stop() {
    const hrtime_t times = troubles_random_.one_in(4) ? 40 : 3;
    server_->stop(draw_ns(troubles_random_, ms_ns, times * timeout_ns_));
}

// A loss is told from the end of a connection on. So what is lost later was told already, if it was
// acknowledged on that connection.
void UpstreamLife::restart(bool keeps_memory) {
    const bool long_one = troubles_random_.one_in(4);
    const hrtime_t down = draw_ns(troubles_random_, us_ns, long_one ? 2 * timeout_ns_ : second_ns);
    keeps_memory = keeps_memory || !forgets_;
    server_->restart(keeps_memory, down);
    if (keeps_memory) return;
    const hrtime_t now = timeline_.now();
    const std::string wrong = oracle_->check_disk(server_->memory(), now);
    if (!wrong.empty()) judge_.fail("after the other server's end: " + wrong);
    const hrtime_t missing = oracle_->came_back(server_->memory(), now);
    if (missing == 0) return;
    for (const auto& place : places_) {
        const bool owed = place->losses_seen < backing_->losses();
        if (owed || missing > counted_at_ + delivery_ns) place->lost_at = now;
    }
}

// ---- The life ----

Outcome UpstreamLife::run() {
    drive();
    plan_trouble();
    plan_changes();
    if (flushes_end_ns_ > 0) {
        timeline_.after(flushes_end_ns_, [this] { server_->refuse_flushes(nbd::Error::enospc); });
    }
    const auto all_done = [&] {
        return out_ == 0 &&
               std::ranges::all_of(places_, [](const auto& place) { return place->left == 0; });
    };
    while (!judge_.failed() && !all_done()) {
        if (!timeline_.step()) judge_.fail("no more events, but requests are not done");
        look_at_losses();
        check_waits();
    }
    if (!judge_.failed()) end();
    return {judge_.verdict(),
            timeline_.hash(),
            timeline_.happened(),
            stays_.all().size(),
            static_cast<unsigned>(places_.size()),
            plan_};
}

// The other server ends once more, and all that was promised must be on its disk.
void UpstreamLife::end() {
    governor_.note_hits(*device_);
    governor_.check({.wake_ns = upstream_wake_ns, .storage_is_fast = false});
    complain(stays_.check(device_->io()));
    if (!changed_) {
        server_->restart(false, 1);
        complain(oracle_->check_disk(server_->memory(), timeline_.now()));
    }
    ring_->unlock();
    for (int i = 0; i < 1000 && timeline_.step(); ++i) {
    }
    if (judge_.failed()) return;
    device_.reset();
    ring_.reset();
    if (kernel_.open_descriptors() > 0) judge_.fail("descriptors left open");
}

}  // namespace

Outcome live_upstream(uint64_t seed, const Cuts& cuts) {
    UpstreamLife life(seed, cuts);
    return life.run();
}

}  // namespace blkscope::simulation
