#include "governor.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

namespace blkscope::simulation {
namespace {

constexpr hrtime_t us = 1'000;
constexpr hrtime_t ms = 1'000'000;

constexpr KnownModel::Span both(hrtime_t ns) {
    return {ns, ns};
}

// By operation: read, write, flush, trim, write_zeroes, cache, block_status.
constexpr hrtime_t t300 = 300 * us;
constexpr std::array<KnownModel, 4> known_models{{
    {"all=const:300us",
     {both(t300), both(t300), both(t300), both(t300), both(t300), both(t300), both(t300)}},
    {"read=const:500us,servers=2", {both(500 * us)}, 0, 2},
    {"write=uniform:100us:400us,flush=const:1ms", {{{}, {100 * us, 400 * us}, both(ms)}}},
    {"read=const:20us,write=const:30us,per_byte=10ns", {both(20 * us), both(30 * us)}, 10},
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

}  // namespace

// ---- Settings ----

void Governor::begin(uint32_t depth) {
    assert(chronicle_.settings.empty());
    chronicle_.settings.push_back({.since = timeline_.now(), .depth = depth});
}

Setting& Governor::note_change() {
    Setting setting = chronicle_.settings.back();
    setting.since = timeline_.now();
    return chronicle_.settings.emplace_back(std::move(setting));
}

void Governor::change_model(Device& device, Random& random) {
    const uint64_t which = random.below(known_models.size() + 1);
    Setting& setting = note_change();
    setting.model_since = setting.since;
    setting.model = which < known_models.size() ? &known_models[which] : nullptr;
    if (setting.model == nullptr) return device.set_model(std::nullopt);
    device.set_model(model::ModelSpec::parse(setting.model->text, {}));
}

void Governor::change_limits(Device& device, Random& random, bool of_clients) {
    const uint64_t which = random.below(governed_limits.size() + 2);
    std::optional<model::LimitSpec> limits;
    if (which < governed_limits.size()) limits = model::LimitSpec::parse(governed_limits[which]);
    Setting& setting = note_change();
    (of_clients ? setting.client_limits : setting.limits) = limits;
    (of_clients ? setting.client_limits_since : setting.limits_since) = setting.since;
    of_clients ? device.set_client_limits(limits) : device.set_limits(limits);
}

void Governor::change_depth(Device& device, Random& random) {
    Setting& setting = note_change();
    setting.depth = static_cast<uint32_t>(random.between(1, 9));
    device.set_queue_depth(setting.depth);
}

void Governor::change_order(Device& device, Random& random) {
    note_change();
    device.set_order(random.one_in(2) ? StartOrder::fair : StartOrder::arrival);
}

// ---- Rules ----

void Governor::draw_delay(KnownRule& rule) {
    rule.kind = KnownRule::Kind::delay;
    rule.ns = 2 * draw_ns_max * ++delays_;
}

KnownRule Governor::draw_rule(Random& random, uint64_t device_bytes) {
    KnownRule rule;
    rule.op = rule_ops[random.below(rule_ops.size())];
    const uint64_t kind = random.below(5);
    if (kind < 2 && errors_ < rule_errors.size()) {
        rule.kind = KnownRule::Kind::error;
        rule.error = rule_errors[errors_++];
    } else if (kind == 2) {
        draw_delay(rule);
    } else {
        rule.kind = KnownRule::Kind::hang;
        if (!rule.op) rule.op = trace::Op::read;  // gathered flushes seem to hang
        if (random.one_in(2)) rule.ns = static_cast<hrtime_t>(random.between(1, 30)) * ms;
    }
    draw_terms(rule, random, device_bytes);
    return rule;
}

// Which requests it strikes, how often, and for how long.
void Governor::draw_terms(KnownRule& rule, Random& random, uint64_t device_bytes) {
    if (random.one_in(3)) {
        const uint64_t sectors = device_bytes / 512;
        const uint64_t first = random.below(sectors);
        rule.sectors.emplace(first, std::min(sectors - 1, first + random.below(sectors / 2)));
    }
    if (random.one_in(3)) rule.chance = random.between(2, 5);
    if (random.one_in(3)) rule.after = random.between(1, 9);
    if (random.one_in(3)) rule.every = random.between(2, 4);
    if (rule.kind == KnownRule::Kind::hang || random.one_in(2)) rule.count = random.between(1, 5);
    if (random.one_in(4)) rule.lasts = static_cast<hrtime_t>(random.between(1, 20)) * ms;
}

void Governor::add(Device& device, KnownRule rule) {
    rule.added = timeline_.now();
    rule.id = device.add_fault(model::FaultRule::parse(rule.text(), device.size_bytes(), {}));
    chronicle_.rules.push_back(rule);
}

void Governor::add_rule(Device& device, Random& random) {
    add(device, draw_rule(random, device.size_bytes()));
}

void Governor::add_delay(Device& device, Random& random) {
    KnownRule rule;
    rule.op = rule_ops[random.below(rule_ops.size())];
    draw_delay(rule);
    draw_terms(rule, random, device.size_bytes());
    add(device, rule);
}

void Governor::note_hits(const Device& device) {
    for (const auto& entry : device.faults()) {
        const auto found = std::ranges::find(chronicle_.rules, entry.id, &KnownRule::id);
        assert(found != chronicle_.rules.end());
        found->hits = entry.hits;
    }
}

void Governor::remove_rules(Device& device, size_t first, size_t last) {
    note_hits(device);
    for (size_t i = first; i < last; ++i) {
        KnownRule& rule = chronicle_.rules[i];
        if (rule.removed <= timeline_.now()) continue;
        rule.removed = timeline_.now();
        if (!device.remove_fault(rule.id)) judge_.fail("a rule is gone: " + rule.text());
    }
    if (!device.faults().empty() && first == 0 && last == chronicle_.rules.size()) {
        judge_.fail("a rule is left that was removed");
    }
}

void Governor::clear_rules(Device& device) {
    note_hits(device);
    for (KnownRule& rule : chronicle_.rules) {
        rule.removed = std::min(rule.removed, timeline_.now());
    }
    device.clear_faults();
}

// ---- Requests ----

void Governor::record(const Buf& buf, uint32_t client) {
    if (buf.error == 0 && !buf.wanted()) ++chronicle_.unwanted;
    chronicle_.requests.push_back({.queued = buf.queued,
                                   .started = buf.started,
                                   .finished = buf.finished,
                                   .drawn_ns = buf.drawn_ns,
                                   .offset = buf.offset,
                                   .bytes = buf.bcount,
                                   .client = client,
                                   .error = static_cast<uint16_t>(buf.error),
                                   .op = static_cast<trace::Op>(buf.op),
                                   .flags = buf.fua ? trace::flag::fua : uint8_t{0}});
}

void Governor::check(const Graces& graces) const {
    const auto complain = [&](const std::string& wrong) {
        if (!wrong.empty()) judge_.fail(wrong);
    };
    complain(check_obedience(chronicle_.settings, chronicle_.requests));
    complain(check_idle(chronicle_.settings, chronicle_.requests, graces.wake_ns));
    complain(check_models(chronicle_, graces));
    complain(check_rules(chronicle_));
}

}  // namespace blkscope::simulation
