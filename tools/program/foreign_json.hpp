// JSON from a file of others. Copies and dumps of nlohmann's trees recurse, so the depth has a limit.
//
// Ownership: the caller owns the tree. Threads: any.
// Errors:    the tree is_discarded() if the text is no JSON, or is nested too deeply.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace blkscope::program {

/// The reports of this project and of fio have fewer levels than 16.
inline constexpr int foreign_depth_max = 64;

[[nodiscard]] inline nlohmann::json parse_foreign(const std::string& text) {
    using nlohmann::json;
    struct TooDeep {};
    const auto limit = [](int depth, json::parse_event_t, const json&) {
        if (depth > foreign_depth_max) throw TooDeep{};
        return true;
    };
    try {
        return json::parse(text, limit, false);
    } catch (const TooDeep&) {
        return json(json::value_t::discarded);
    }
}

}  // namespace blkscope::program
