#include "life.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <sstream>
#include <utility>

#include "blockdev/backing/write_size.hpp"
#include "boot.hpp"
#include "device_life.hpp"
#include "governed_life.hpp"
#include "upstream_life.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t tls_life_each = 10;  // one life in so many has TLS
constexpr uint64_t tls_life = 7;  // a life number that is odd, and so is never a device's alone
constexpr uint64_t plan_stream = 0x706c616e;
constexpr uint64_t door_stream = 0x646f6f72;
constexpr uint64_t table_stream = 0x7461626c;
constexpr uint64_t gpt_stream = 0x677074;
constexpr uint64_t rules_stream = 0x72756c65;
constexpr uint64_t loss_stream = 0x6c6f7373;
constexpr uint64_t elsewhere_stream = 0x656c7365;
constexpr uint64_t elsewhere_life_each = 8;  // one life with a server in so many
constexpr uint64_t elsewhere_bytes_max = uint64_t{1} << 20;
constexpr uint64_t large_stream = 0x6c617267;
constexpr uint64_t large_life_each = 12;  // one life with a server in so many has large writes
constexpr uint64_t planned_change_stream = 0x6368616e;
constexpr uint64_t wide_stream = 0x77696465;
constexpr uint64_t wide_life_each = 6;  // one life with a server in so many has disks beyond 4 GiB
constexpr uint64_t hang_stream = 0x68616e67;
constexpr uint64_t hanging_life_each =
    6;  // one life with a server in so many has a disk that hangs
constexpr uint64_t power_stream = 0x706f7765;
constexpr uint64_t power_life_each = 6;     // one life with a server in so many has volatile caches
constexpr uint64_t changing_life_each = 4;  // one life with a server in so many
constexpr uint64_t read_only_stream = 0x72656164;
constexpr uint64_t read_only_each = 10;  // one export in so many
constexpr unsigned address_bits = 32;
constexpr uint64_t device_life_each = 4;    // one life in so many is a device's alone
constexpr uint64_t governed_life_each = 8;  // and one whose settings change meanwhile
constexpr uint64_t upstream_life_each = 8;  // one life in so many has another server
constexpr uint64_t upstream_life = 6;       // a life number that is no device's, and has no TLS

hrtime_t up_to(Random& random, uint64_t most) {
    return static_cast<hrtime_t>(random.between(1, most));
}

// Mostly few faults, sometimes many.
Faults draw_faults(Random& random) {
    Faults faults;
    if (random.one_in(2)) return faults;
    const auto rate = [&] { return random.one_in(2) ? 0 : random.between(5, 200); };
    faults.short_transfer = random.one_in(2) ? random.between(2, 20) : 0;
    faults.interrupted = rate();
    faults.read_error = rate();
    faults.write_error = rate();
    faults.sync_error = random.one_in(3) ? random.between(4, 60) : 0;
    faults.submit_error = random.one_in(2) ? random.between(3, 50) : 0;
    faults.short_submit = random.one_in(2) ? random.between(2, 20) : 0;
    return faults;
}

Disk draw_disk(Random& random) {
    Disk disk;
    static constexpr uint64_t slowest[] = {5'000, 50'000, 500'000};
    disk.ns_max = up_to(random, slowest[random.below(3)]);
    disk.ns_min = std::max<hrtime_t>(1, disk.ns_max / static_cast<hrtime_t>(random.between(1, 20)));
    disk.can_punch = !random.one_in(6);
    disk.can_zero_range = !random.one_in(6);
    return disk;
}

ExportPlan draw_export(Random& random) {
    static constexpr Medium media[] = {Medium::memory,   Medium::null,   Medium::buffered,
                                       Medium::buffered, Medium::direct, Medium::direct};
    ExportPlan plan;
    plan.medium = media[random.below(6)];
    plan.bytes = random.one_in(16) ? uint64_t{4} << 20 : page_bytes * random.between(4, 64);
    static constexpr uint32_t depths[] = {1, 1, 2, 3, 8, 32, 128};
    plan.depth = depths[random.below(7)];
    return plan;
}

ClientPlan draw_client(Random& random, const ExportPlan& exp) {
    using Manner = ClientPlan::Manner;
    static constexpr Manner manners[] = {Manner::stalls, Manner::vanishes, Manner::garbage,
                                         Manner::half};
    ClientPlan plan;
    if (random.one_in(4)) plan.manner = manners[random.below(4)];
    plan.form = static_cast<nbd::ReplyForm>(random.below(3));
    plan.requests = static_cast<unsigned>(random.between(5, 60));
    plan.depth =
        static_cast<unsigned>(random.one_in(3) ? random.between(1, 2) : random.between(1, 32));
    plan.misbehaves_after = static_cast<unsigned>(random.below(plan.requests));
    if (random.one_in(3)) plan.think_ns_max = up_to(random, 200'000);
    if (random.one_in(4)) plan.pause_ns_max = up_to(random, 300'000);
    const bool large = random.one_in(12);
    plan.take_bytes_max = !large && random.one_in(4) ? random.between(64, 4096) : 65536;
    plan.request_bytes_max = large ? exp.bytes : random.between(1, 16) * page_bytes;
    plan.request_bytes_max = std::min<uint64_t>(plan.request_bytes_max, exp.bytes);
    plan.hot_bytes = random.between(2, 16) * page_bytes;
    plan.wrong_one_in = random.one_in(2) ? 0 : 16;
    plan.mix = static_cast<unsigned>(random.below(4));
    if (random.one_in(8)) plan.requests *= 4;
    return plan;
}

// There are few places for handshakes, but at least one for each owner.
DoorPlan draw_door(uint64_t seed, size_t clients) {
    Random random(seed, door_stream);
    DoorPlan plan;
    plan.handshake_ns = static_cast<hrtime_t>(random.between(2'000, 10'000)) * 1'000'000;
    if (random.one_in(6)) plan.accept_error = random.between(2, 6);
    if (random.one_in(2)) return plan;
    plan.loiterer_owners = static_cast<unsigned>(random.between(1, 2));
    // An owner with a user and an address counts twice.
    const auto persons = static_cast<unsigned>(clients) + 2 * plan.loiterer_owners;
    plan.handshakes_max = persons + static_cast<unsigned>(random.below(4));
    plan.loiterers = static_cast<unsigned>(random.between(1, 3 * uint64_t{plan.handshakes_max}));
    plan.waits_for_loiterers = random.one_in(3);
    return plan;
}

// Networks of 1 to 8 addresses, of which clients and half handshakes have the first 8.
RulesPlan draw_rules(Random& random, bool tls) {
    using Mode = nbd::TlsMode;
    static constexpr Mode modes[] = {Mode::off, Mode::on, Mode::on, Mode::require};
    RulesPlan rules;
    if (tls) rules.tls = modes[random.below(4)];
    if (!random.one_in(4)) return rules;
    for (uint64_t i = random.between(1, 3); i > 0; --i) {
        const auto host_bits = static_cast<unsigned>(random.below(4));
        const auto first = static_cast<unsigned>(random.below(12)) >> host_bits << host_bits;
        rules.allowed.emplace_back(first, address_bits - host_bits);
    }
    return rules;
}

// There are sockets for all clients at once, and for two half handshakes of each owner. The sockets
// of a removed export's clients close late, so a life with a reload has no such limit.
void draw_rules_and_losses(uint64_t seed, LifePlan& plan) {
    Random random(seed, rules_stream);
    if (plan.tls) plan.reloads = random.one_in(2);
    plan.door.rules = draw_rules(random, plan.tls);
    plan.door.rules_after_reload = draw_rules(random, plan.tls);
    if (plan.door.loiterers > 0 && !plan.reloads && random.one_in(2)) {
        const auto persons = plan.clients.size() + size_t{2} * plan.door.loiterer_owners;
        plan.door.sockets_max = persons + random.below(4);
        if (random.one_in(4)) plan.door.spare_lost = random.between(2, 6);
    }
    Random losses(seed, loss_stream);
    plan.truncates = losses.one_in(8);
}

// Writes of the largest size that the worker itself may write to the page cache, so that each way to do it is tried.
void draw_large(uint64_t seed, LifePlan& plan) {
    Random random(seed, large_stream);
    if (!random.one_in(large_life_each)) return;
    for (size_t i = 0; i < plan.clients.size(); ++i) {
        ExportPlan& exp = plan.exports[plan.client_export[i]];
        if (exp.medium != Medium::buffered) continue;
        exp.bytes = std::max(exp.bytes, 4 * write_size::bytes_max);
        plan.clients[i].request_bytes_max = write_size::bytes_max;
        plan.clients[i].hot_bytes = 2 * write_size::bytes_max;
    }
}

// One partition over all after the table, or two with a gap.
void draw_partitions(uint64_t seed, LifePlan& plan) {
    Random random(seed, table_stream);
    for (ExportPlan& exp : plan.exports) {
        const bool file = exp.medium == Medium::buffered || exp.medium == Medium::direct;
        if (!file || !random.one_in(3)) continue;
        const uint64_t pages = exp.bytes / page_bytes;
        assert(pages >= 4);
        const uint64_t middle = random.between(3, pages - 1) * page_bytes;
        exp.partitions.push_back({table_bytes, exp.bytes});
        if (random.one_in(2)) continue;
        exp.partitions[0].end_byte = middle;
        exp.partitions.push_back({middle + 512 * random.below(7), exp.bytes});
    }
    for (size_t i = 0; i < plan.clients.size(); ++i) {
        const ExportPlan& exp = plan.exports[plan.client_export[i]];
        if (exp.partitions.empty()) continue;
        uint64_t& most = plan.clients[i].request_bytes_max;
        most = std::min(most, exp.bytes - table_bytes);
    }
}

// Sizes around which numbers of 31, 32, 40 or more bits end, and which are near none of them.
uint64_t draw_wide_bytes(Random& random, bool file) {
    constexpr uint64_t half = uint64_t{1} << 31;
    static constexpr uint64_t halves[] = {1, 2, 2, 3, 4, 5, 512, 1024, 1536};
    const uint64_t whole = half * halves[random.below(file ? 9 : 6)];
    return whole + page_bytes * random.below(random.one_in(2) ? 4 : 4096);
}

// A table of the old kind has sectors of 32 bits.
void draw_tables(uint64_t seed, LifePlan& plan) {
    Random random(seed, gpt_stream);
    for (ExportPlan& exp : plan.exports) {
        if (exp.partitions.empty()) continue;
        exp.gpt = exp.bytes > sector_bytes << 32U || random.one_in(3);
    }
}

void draw_wide(uint64_t seed, LifePlan& plan) {
    Random random(seed, wide_stream);
    if (!random.one_in(wide_life_each)) return;
    for (ExportPlan& exp : plan.exports) {
        if (random.one_in(3) || exp.medium == Medium::elsewhere) continue;
        exp.bytes = draw_wide_bytes(random, exp.medium != Medium::memory);
        if (exp.partitions.empty()) continue;
        exp.partitions.back().end_byte = exp.bytes;
        if (exp.partitions.size() == 1) continue;
        constexpr uint64_t half = uint64_t{1} << 31;
        const bool crosses = exp.bytes > half + page_bytes && random.one_in(2);
        exp.partitions[0].end_byte = crosses ? half : exp.bytes / 2 / page_bytes * page_bytes;
        exp.partitions[1].first_byte = exp.partitions[0].end_byte + 512 * random.below(7);
    }
}

// The bytes of some exports are another server's, which has terms of its own.
void draw_elsewhere(uint64_t seed, LifePlan& plan) {
    Random random(seed, elsewhere_stream);
    if (!random.one_in(elsewhere_life_each)) return;
    for (ExportPlan& exp : plan.exports) {
        if (exp.bytes > elsewhere_bytes_max || random.one_in(4)) continue;
        exp.medium = Medium::elsewhere;
        exp.partitions.clear();
        exp.connections = random.one_in(2) ? 1 : static_cast<unsigned>(random.between(2, 4));
        exp.other = OtherTerms::draw(random, exp.bytes, exp.connections > 1);
        exp.other.wrong_cookie_one_in = 0;  // no connection is lost
        if (random.one_in(8)) exp.other.flags |= nbd::transmission_flag::read_only;
    }
}

// For so long that other clients wait in vain, should they wait for this disk; or so long that the server must end
// without the disk's answers.
std::optional<HangPlan> draw_hang(uint64_t seed, const LifePlan& plan) {
    Random random(seed, hang_stream);
    if (!random.one_in(hanging_life_each)) return {};
    HangPlan hang;
    hang.exp = static_cast<unsigned>(random.below(plan.exports.size()));
    hang.one_in = random.one_in(2) ? 1 : random.between(2, 8);
    hang.to_the_end = random.one_in(3);
    hang.ns = hang.to_the_end || random.one_in(2) ? up_to(random, 40'000'000'000) / 2
                                                  : up_to(random, 30'000'000);
    return hang;
}

// Volatile caches, some so small that they are full at once. Behind one, a write that the file refuses is lost, which
// the oracle does not know.
void draw_power(uint64_t seed, LifePlan& plan) {
    Random random(seed, power_stream);
    if (!random.one_in(power_life_each)) return;
    for (ExportPlan& exp : plan.exports) {
        const bool can = exp.medium == Medium::memory || exp.medium == Medium::buffered;
        if (!can || random.one_in(4)) continue;
        exp.cache.emplace();
        exp.cache->size_bytes = page_bytes << random.below(9);
        if (random.one_in(3)) exp.cache->block_bytes = model::CrashCacheOptions::sector_bytes;
        exp.cache->ignores_flush = random.one_in(8);
        exp.cache->seed = seed;
        plan.power_losses = 1;
    }
    if (plan.power_losses == 0) return;
    plan.power_losses = static_cast<unsigned>(random.between(1, 3));
    plan.truncates = false;
    plan.disk.ns_min = std::min<hrtime_t>(plan.disk.ns_min, 1'000);
    if (plan.hang) plan.door.loiterers = 0;  // a loss that waits takes up their time
    plan.door.sockets_max = plan.door.spare_lost = 0;
    plan.faults.interrupted = plan.faults.write_error = plan.faults.sync_error = 0;
}

LifePlan draw_plan(uint64_t seed, const Cuts& cuts) {
    Random random(seed, plan_stream);
    LifePlan plan;
    plan.workers = std::min(static_cast<unsigned>(random.between(1, 3)), cuts.workers_max);
    plan.faults = draw_faults(random);
    plan.disk = draw_disk(random);
    const uint64_t exports = random.one_in(2) ? 1 : random.between(1, 3);
    for (uint64_t i = 0; i < exports; ++i) plan.exports.push_back(draw_export(random));
    const uint64_t clients = random.between(1, 6);
    for (uint64_t i = 0; i < clients; ++i) {
        const auto exp = static_cast<unsigned>(random.below(exports));
        plan.client_export.push_back(exp);
        plan.clients.push_back(draw_client(random, plan.exports[exp]));
    }
    if (random.one_in(3)) plan.boots = static_cast<unsigned>(random.between(2, 3));
    draw_elsewhere(seed, plan);
    plan.reloads = random.one_in(4);
    plan.door = draw_door(seed, clients);
    draw_large(seed, plan);
    draw_partitions(seed, plan);
    draw_wide(seed, plan);
    draw_tables(seed, plan);
    Random read_only(seed, read_only_stream);
    for (ExportPlan& exp : plan.exports) exp.read_only = read_only.one_in(read_only_each);
    plan.tls = seed % tls_life_each == tls_life;
    draw_rules_and_losses(seed, plan);
    // The connections to another server take descriptors whenever they need them.
    const bool any_elsewhere = std::ranges::any_of(
        plan.exports, [](const ExportPlan& exp) { return exp.medium == Medium::elsewhere; });
    if (any_elsewhere) plan.door.sockets_max = plan.door.spare_lost = 0;
    plan.cuts = cuts;
    plan.hang = draw_hang(seed, plan);
    draw_power(seed, plan);
    Random changes(seed, planned_change_stream);
    if (changes.one_in(changing_life_each)) {
        plan.changes = static_cast<unsigned>(changes.between(1, 16));
    }
    if (cuts.no_changes) plan.changes = 0;
    if (cuts.no_faults) plan.faults = {};
    if (cuts.no_faults) plan.truncates = false;
    if (cuts.no_faults) plan.hang.reset();
    if (cuts.no_faults) plan.door.accept_error = plan.door.spare_lost = 0;
    if (cuts.no_crash) plan.boots = 1;
    if (cuts.no_crash) plan.power_losses = 0;
    return plan;
}

std::string describe(const LifePlan& plan) {
    static constexpr const char* media[] = {"memory", "null", "buffered", "direct",
                                            "another server's"};
    static constexpr const char* modes[] = {"off", "on", "required"};
    std::ostringstream text;
    text << plan.workers << " workers, " << plan.boots << " boots"
         << (plan.reloads ? ", reload" : "") << (plan.truncates ? ", truncation" : "");
    if (plan.changes > 0) text << ", " << plan.changes << " live changes";
    if (plan.hang) {
        text << ", export " << plan.hang->exp << " hangs"
             << (plan.hang->to_the_end ? " to the end" : "");
    }
    if (plan.power_losses > 0) text << ", " << plan.power_losses << " losses of power";
    if (plan.tls) {
        text << ", TLS " << modes[static_cast<size_t>(plan.door.rules.tls)] << " then "
             << modes[static_cast<size_t>(plan.door.rules_after_reload.tls)];
    }
    if (!plan.door.rules.allowed.empty()) text << ", allow list";
    if (plan.door.sockets_max > 0) text << ", " << plan.door.sockets_max << " sockets";
    for (const ExportPlan& exp : plan.exports) {
        text << "; " << media[static_cast<size_t>(exp.medium)] << ' ' << exp.bytes / page_bytes
             << " pages, depth " << exp.depth;
        if (exp.medium == Medium::elsewhere) text << " (" << exp.other.describe() << ')';
        if (exp.cache) text << ", cache " << exp.cache->text();
        if (exp.read_only) text << ", read-only";
        if (!exp.partitions.empty())
            text << ", " << exp.partitions.size() << " partitions" << (exp.gpt ? " in a GPT" : "");
    }
    text << "; " << plan.clients.size() << " clients";
    if (plan.door.loiterers > 0) text << ", " << plan.door.loiterers << " half handshakes";
    return text.str();
}

}  // namespace

Outcome live(uint64_t seed, const Cuts& cuts) {
    if (seed % governed_life_each == 0) return live_governed(seed, cuts);
    if (seed % device_life_each == 0) return live_device(seed, cuts);
    if (seed % upstream_life_each == upstream_life) return live_upstream(seed, cuts);
    const LifePlan plan = draw_plan(seed, cuts);
    Outcome outcome;
    outcome.plan = describe(plan);
    outcome.tls = plan.tls;
    std::optional<SeededRandomness> randomness;
    if (plan.tls) randomness.emplace(seed);
    Timeline timeline;
    Judge judge;
    std::vector<Image> contents;
    for (const ExportPlan& exp : plan.exports) {
        write_table(exp, contents.emplace_back(exp.bytes));
    }
    for (unsigned number = 0; number < plan.boots && !judge.failed(); ++number) {
        Boot boot(timeline, seed, plan, judge, number);
        boot.run(contents, number + 1 < plan.boots);
        outcome.clients += boot.clients_come();
        outcome.plan += boot.clocks();
    }
    outcome.verdict = judge.verdict();
    outcome.hash = timeline.hash();
    outcome.events = timeline.happened();
    outcome.answers = judge.answers;
    return outcome;
}

}  // namespace blkscope::simulation
