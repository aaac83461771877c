// Feeds any text to the grammars of models, limits, faults and crash caches. The first byte says which grammar.
//
// A parser may refuse a text, by std::invalid_argument and one line alone. The text of an accepted
// specification is read back as the same one. All times that a model draws are finite and not negative. A request
// that a limit refuses may start when the limit says so. A fault changes only what it may.
// Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "blockdev/model/crash_cache.hpp"
#include "blockdev/model/fault_rules.hpp"
#include "blockdev/model/limits.hpp"
#include "blockdev/model/model_spec.hpp"
#include "blockdev/model/service_model.hpp"
#include "require.hpp"

namespace {

using namespace blkscope;
using namespace blkscope::model;

constexpr uint64_t size_bytes = uint64_t{1} << 40;

bool is_one_line(std::string_view text) {
    return !text.empty() && text.find('\n') == text.npos;
}

// A histogram of the bytes of the file's name. Some of them are impossible.
Histogram histogram_of(const std::string& file) {
    Histogram histogram;
    for (size_t i = 0; i + 2 < file.size(); i += 3) {
        const double from = static_cast<unsigned char>(file[i]);
        histogram.buckets.push_back({from, from + static_cast<signed char>(file[i + 1]),
                                     static_cast<unsigned char>(file[i + 2])});
    }
    return histogram;
}

ModelSpec parse_model(std::string_view text) {
    return ModelSpec::parse(
        text, [](const std::string& file, std::string_view) { return histogram_of(file); });
}

FaultRule parse_fault(std::string_view text) {
    return FaultRule::parse(text, size_bytes, histogram_of);
}

// The result of a text that a specification has of itself. Its refusal is a defect.
template <class Parse>
auto read_back(Parse parse) {
    try {
        return parse();
    } catch (const std::invalid_argument&) {
        std::abort();
    }
}

struct Request : Buf {
    Request(Op what, uint64_t at, uint64_t bytes, bool stable) {
        op = what;
        offset = at;
        bcount = bytes;
        fua = stable;
    }
};

std::vector<Request> requests() {
    std::vector<Request> all;
    for (size_t op = 0; op < Buf::op_count; ++op) {
        const bool has_data = static_cast<Buf::Op>(op) != Buf::Op::flush;
        for (const uint64_t offset : {uint64_t{0}, size_bytes / 2, size_bytes - (1 << 20)}) {
            for (const uint64_t bytes : {uint64_t{512}, uint64_t{1} << 20}) {
                all.emplace_back(static_cast<Buf::Op>(op), has_data ? offset : 0,
                                 has_data ? bytes : 0, op == 1 && bytes == 512);
            }
        }
    }
    return all;
}

void draw(const Distribution& distribution) {
    const double mean = distribution.mean_ns();
    require(std::isfinite(mean) && mean >= 0);
    for (uint64_t number = 0; number < 4; ++number) {
        Draws draws(7, 1, number);
        const double ns = distribution.draw_ns(draws);
        require(std::isfinite(ns) && ns >= 0);
    }
}

void serve(const ModelSpec& spec) {
    ServiceModel service(spec, size_bytes, 4, 7);
    hrtime_t now = 1'000'000'000;
    for (const Request& request : requests()) {
        const Stay stay = service.start(request, now);
        require(stay.begin >= now && stay.end >= stay.begin);
        require(spec.has(request.op) || stay.end == stay.begin);
        service.ended(stay, stay.end);
        now += 1'000'000;
    }
}

void try_model(std::string_view text) {
    const ModelSpec spec = parse_model(text);
    const std::string canonical = spec.text();
    const ModelSpec again = read_back([&] { return parse_model(canonical); });
    require(again == spec && again.text() == canonical);
    for (const auto& time : spec.times) {
        if (time) draw(*time);
    }
    require(spec.means().find('\n') == std::string::npos || text.find('\n') != text.npos);
    static_cast<void>(spec.warnings());
    serve(spec);
}

// Waits for the tokens of one request after another, as a client at depth 1 would.
void try_limit(std::string_view text) {
    const LimitSpec spec = LimitSpec::parse(text);
    const std::string canonical = spec.text();
    const LimitSpec again_spec = read_back([&] { return LimitSpec::parse(canonical); });
    require(again_spec == spec && again_spec.text() == canonical);
    hrtime_t now = 1'000'000'000;
    Limits limits(spec, now);
    for (const Request& request : requests()) {
        limits.begin(now);
        while (!limits.admit(request)) {
            const auto again = limits.again_at();
            require(again && *again > now);
            now = *again;
            limits.begin(now);
        }
    }
    require(limits.full_at(now) >= now && limits.exceeded_ns(now) <= static_cast<uint64_t>(now));
}

// The bytes that a rule flips, or those of a torn write that stay.
void damage(const FaultRule& rule, const Request& request, const Draws& draws) {
    if (rule.kind == FaultRule::Kind::torn) {
        const uint64_t bytes = torn_bytes(request.offset, request.bcount, draws);
        require(bytes == 0 || bytes < request.bcount);
    }
    if (rule.kind != FaultRule::Kind::corrupt || request.bcount != 512) return;
    std::vector<std::byte> data(request.bcount);
    corrupt(data, rule.corrupt_bytes, draws);
    const auto flipped = std::ranges::count(data, std::byte{0xff});
    require(static_cast<uint64_t>(flipped) == std::min(rule.corrupt_bytes, request.bcount));
}

void try_fault(std::string_view text) {
    const FaultRule rule = parse_fault(text);
    const std::string canonical = rule.text();
    require(read_back([&] { return parse_fault(canonical); }).text() == canonical);
    if (rule.delay) draw(*rule.delay);
    static_cast<void>(rule.warning());
    FaultRules rules(7);
    const uint32_t id = rules.add(rule, 0);
    for (const Request& request : requests()) {
        const auto hit = rules.strike(request, 1000);
        if (!hit) continue;
        require(hit->id == id && rule.concerns(request) && (!rule.op || *rule.op == request.op));
        damage(*hit->rule, request, hit->draws);
    }
    const FaultRules::Entry& entry = rules.entries().front();
    require(entry.hits <= entry.seen && entry.hits <= rule.count);
    require(rules.remove(id) && rules.entries().empty());
}

// The medium, and the disk as a client sees it.
struct Disk : Medium {
    void write(uint64_t offset, std::span<const std::byte> data) override {
        require(offset <= bytes.size() && data.size() <= bytes.size() - offset);
        std::ranges::copy(data, bytes.begin() + static_cast<ptrdiff_t>(offset));
    }
    std::vector<std::byte> bytes = std::vector<std::byte>(size_t{4} << 12);
};

void try_crash_cache(std::string_view text) {
    const CrashCacheOptions options = CrashCacheOptions::parse(text);
    require(read_back([&] { return CrashCacheOptions::parse(options.text()); }) == options);
    Disk medium;
    Disk seen;
    CrashCache cache(options);
    for (uint8_t i = 1; i < 24; ++i) {
        const std::vector<std::byte> data(512 * (1 + i % 5), std::byte{i});
        const uint64_t offset = uint64_t{512} * i;
        cache.write(offset, data, i % 7 == 0, medium);
        seen.write(offset, data);
    }
    std::vector<std::byte> read = medium.bytes;
    cache.overlay(0, read);
    require(read == seen.bytes);
    cache.flush(medium);
    static_cast<void>(cache.crash(medium));
    require(cache.empty() && (options.ignores_flush || medium.bytes == seen.bytes));
}

void try_grammar(uint8_t which, std::string_view text) {
    switch (which % 4) {
        case 0:
            return try_model(text);
        case 1:
            return try_limit(text);
        case 2:
            return try_fault(text);
        default:
            return try_crash_cache(text);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    try {
        try_grammar(data[0], text);
    } catch (const std::invalid_argument& refused) {
        require(is_one_line(refused.what()) || text.find('\n') != text.npos);
    }
    return 0;
}
