// Parses the data of a client's options.
//
// Units:     bytes.
// Ownership: names point into the data that was parsed.
// Threads:   pure functions.
// Errors:    malformed data give the reason, for the client.
// Source:    the NBD protocol document, "Option types".
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The data of INFO and GO.
struct InfoQuestion {
    std::string_view exp;
    bool name = false;
    bool description = false;
    bool block_sizes = false;
};

/// Format: u32 name length, name, u16 count, then `count` u16 information types.
Result<InfoQuestion, const char*> parse_info_question(std::span<const std::byte> data);

/// The data of the two META_CONTEXT options.
struct ContextQuestion {
    std::string_view exp;
    bool any_query = false;
    bool names_allocation = false;
    bool names_all_of_base = false;
};

/// Format: u32 name length, name, u32 count, then `count` queries, each u32 length and text.
Result<ContextQuestion, const char*> parse_context_question(std::span<const std::byte> data);

}  // namespace blkscope::nbd
