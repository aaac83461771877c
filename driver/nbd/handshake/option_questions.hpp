// Questions: what the data of a client's option asks, parsed.
//
// Units:     bytes.
// Ownership: a question's names point into the data that it was read from.
// Threads:   pure functions.
// Errors:    malformed data gives nothing.
// Source:    the NBD protocol document, "Option types".
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

/// The number at `at`. The caller has checked that it is there.
template <std::unsigned_integral T>
T get(std::span<const std::byte> from, std::size_t at) {
    return load_be<T>(from.subspan(at).first<sizeof(T)>());
}

[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What INFO and GO ask.
struct InfoQuestion {
    std::string_view exp;
    bool name = false;
    bool description = false;
    bool block_sizes = false;
};

/// u32 name length, name, u16 count, count times u16 what to tell.
std::optional<InfoQuestion> parse_info_question(std::span<const std::byte> data);

/// What the two META_CONTEXT options ask.
struct ContextQuestion {
    std::string_view exp;
    bool any_query = false;
    bool names_allocation = false;
    bool names_all_of_base = false;
};

/// u32 name length, name, u32 count, count times a query of u32 length and text.
std::optional<ContextQuestion> parse_context_question(std::span<const std::byte> data);

}  // namespace blkscope::nbd
