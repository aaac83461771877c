#include "trace/model_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <string_view>

#include "base/decimal.hpp"

namespace blkscope::trace {
namespace {

constexpr const char* moment_key = "state_ns";
constexpr const char* seed_key = "seed";
constexpr const char* head_key = "head";
constexpr std::string_view drawn_prefix = "drawn_";
constexpr std::string_view tokens_prefix = "tokens_";

// The number of a key, if it is there. Otherwise `number` stays. False if the value is no number.
template <class Number>
bool take_number(const Properties& properties, const std::string& key, Number& number) {
    const auto found = properties.find(key);
    if (found == properties.end()) return true;
    const auto value = decimal<Number>(found->second);
    if (value) number = *value;
    return value.has_value();
}

template <class Number>
bool take_optional(const Properties& properties, const std::string& key,
                   std::optional<Number>& number) {
    if (!properties.contains(key)) return true;
    number.emplace();
    return take_number(properties, key, *number);
}

std::string drawn_key(size_t op) {
    return fmt::format("{}{}", drawn_prefix, name_of(static_cast<Op>(op)));
}

std::string trouble(const std::string& key) {
    return fmt::format("damaged: its property {} is no number", key);
}

// A request that is gathered, or whose operation has no time, draws nothing. With FUA there is a
// draw of a flush, too, if flushes have a time.
void count_draws(const Request& request, std::array<uint64_t, op_count>& draws) {
    if (request.started == 0 || request.drawn_ns == 0) return;
    ++draws[static_cast<size_t>(request.op)];
    if ((request.flags & flag::fua) != 0) ++draws[static_cast<size_t>(Op::flush)];
}

// Without a time of flushes there were no draws of them.
bool draws_flushes(const Trace& trace, const ModelState& state) {
    const auto flush = static_cast<size_t>(Op::flush);
    return state.drawn[flush] > 0 ||
           std::any_of(trace.requests.begin(), trace.requests.end(), [](const Request& each) {
               return each.op == Op::flush && each.drawn_ns > 0;
           });
}

}  // namespace

void put_state(const ModelState& state, Properties& properties) {
    std::erase_if(properties, [](const auto& property) {
        const std::string& key = property.first;
        return key == moment_key || key == head_key || key.starts_with(drawn_prefix) ||
               key.starts_with(tokens_prefix);
    });
    if (state.seed) properties[seed_key] = std::to_string(*state.seed);
    if (state.at == 0) return;
    properties[moment_key] = std::to_string(state.at);
    for (size_t op = 0; op < op_count; ++op) {
        if (state.drawn[op] > 0) properties[drawn_key(op)] = std::to_string(state.drawn[op]);
    }
    for (const auto& [name, level] : state.tokens) {
        properties[std::string(tokens_prefix) + name] = std::to_string(level);
    }
    if (state.head) properties[head_key] = std::to_string(*state.head);
}

Result<ModelState, std::string> state_of(const Properties& properties) {
    ModelState state;
    if (!take_number(properties, moment_key, state.at)) return trouble(moment_key);
    if (!take_optional(properties, seed_key, state.seed)) return trouble(seed_key);
    if (!take_optional(properties, head_key, state.head)) return trouble(head_key);
    for (size_t op = 0; op < op_count; ++op) {
        if (!take_number(properties, drawn_key(op), state.drawn[op])) return trouble(drawn_key(op));
    }
    for (const auto& [key, value] : properties) {
        if (!key.starts_with(tokens_prefix)) continue;
        const auto level = decimal<int64_t>(value);
        if (!level) return trouble(key);
        state.tokens[key.substr(tokens_prefix.size())] = *level;
    }
    return state;
}

void settle(Trace& trace) {
    auto state = state_of(trace.properties);
    if (!state || state->at == 0) return;
    std::array<uint64_t, op_count> before{};
    bool any_ended = false;
    for (const Request& request : trace.requests) {
        if (request.started < state->at) count_draws(request, before);
        any_ended = any_ended || (request.finished > 0 && request.finished < state->at);
    }
    for (size_t op = 0; op < op_count; ++op) {
        state->drawn[op] -= std::min(before[op], state->drawn[op]);
    }
    if (any_ended) {
        state->tokens.clear();
        state->head.reset();
    }
    if (!trace.requests.empty()) state->at = std::min(state->at, trace.requests.front().arrival());
    put_state(*state, trace.properties);
}

void drop_first(Trace& trace, size_t count) {
    assert(count <= trace.requests.size());
    if (count == 0) return;
    const auto end = trace.requests.begin() + static_cast<ptrdiff_t>(count);
    auto state = state_of(trace.properties);
    if (state && state->at > 0) {
        std::array<uint64_t, op_count> dropped{};
        std::for_each(trace.requests.begin(), end,
                      [&](const Request& each) { count_draws(each, dropped); });
        if (!draws_flushes(trace, *state)) dropped[static_cast<size_t>(Op::flush)] = 0;
        for (size_t op = 0; op < op_count; ++op) state->drawn[op] += dropped[op];
        state->tokens.clear();
        state->head.reset();
        put_state(*state, trace.properties);
    }
    trace.requests.erase(trace.requests.begin(), end);
}

}  // namespace blkscope::trace
