#include "driver/nbd/handshake/option_questions.hpp"

#include <cassert>

#include "driver/nbd/text.hpp"

namespace blkscope::nbd {
namespace {

constexpr std::string_view base_namespace = "base:";

void note_wish(InfoQuestion& question, Info wish) {
    switch (wish) {
        case Info::name:
            question.name = true;
            return;
        case Info::description:
            question.description = true;
            return;
        case Info::block_size:
            question.block_sizes = true;  // always told, but who asks for them keeps to them
            return;
        case Info::exp:
            return;  // always told
    }
    // An unknown wish is ignored: the protocol's way of letting newer clients ask for more.
}

// Takes a counted string off the front; nothing where it is not whole or not a string.
std::optional<std::string_view> take_string(std::span<const std::byte>& from) {
    if (from.size() < sizeof(std::uint32_t)) return std::nullopt;
    const std::size_t bytes = get<std::uint32_t>(from, 0);
    from = from.subspan(sizeof(std::uint32_t));
    if (bytes > from.size()) return std::nullopt;
    const std::string_view text = as_text(from.first(bytes));
    from = from.subspan(bytes);
    return valid_string(text) ? std::optional(text) : std::nullopt;
}

}  // namespace

std::optional<InfoQuestion> parse_info_question(std::span<const std::byte> data) {
    constexpr std::size_t around_name = sizeof(std::uint32_t) + sizeof(std::uint16_t);
    if (data.size() < around_name) return std::nullopt;
    const std::size_t name_bytes = get<std::uint32_t>(data, 0);
    // Subtracted on our side: the client's number is near 2^32 when it means harm.
    if (name_bytes > data.size() - around_name) return std::nullopt;
    const std::size_t wishes = get<std::uint16_t>(data, sizeof(std::uint32_t) + name_bytes);
    if (data.size() - around_name - name_bytes != wishes * sizeof(std::uint16_t)) {
        return std::nullopt;
    }

    InfoQuestion question{.exp = as_text(data.subspan(sizeof(std::uint32_t), name_bytes))};
    if (!valid_string(question.exp)) return std::nullopt;
    for (std::size_t i = 0; i < wishes; ++i) {
        const std::size_t at = around_name + name_bytes + i * sizeof(std::uint16_t);
        assert(at + sizeof(std::uint16_t) <= data.size());
        note_wish(question, Info{get<std::uint16_t>(data, at)});
    }
    return question;
}

std::optional<ContextQuestion> parse_context_question(std::span<const std::byte> data) {
    const auto name = take_string(data);
    if (!name || data.size() < sizeof(std::uint32_t)) return std::nullopt;
    const std::uint32_t queries = get<std::uint32_t>(data, 0);
    data = data.subspan(sizeof(std::uint32_t));
    ContextQuestion question{.exp = *name, .any_query = queries > 0};
    // Each takes at least its four bytes of what has come, whatever the client's number is.
    for (std::uint32_t i = 0; i < queries; ++i) {
        const auto query = take_string(data);
        if (!query) return std::nullopt;
        // Others' namespaces and unknown leaves are ignored, as are queries of no known form.
        if (*query == base_allocation) question.names_allocation = true;
        if (*query == base_namespace) question.names_all_of_base = true;
    }
    return data.empty() ? std::optional(question) : std::nullopt;
}

}  // namespace blkscope::nbd
