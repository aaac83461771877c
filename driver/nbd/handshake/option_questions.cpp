#include "driver/nbd/handshake/option_questions.hpp"

#include <cassert>

#include "driver/nbd/text.hpp"

namespace blkscope::nbd {
namespace {

constexpr std::string_view base_namespace = "base:";

// The reasons why data are malformed.
constexpr const char* too_short = "the option is shorter than its parts";
constexpr const char* wrong_length = "the option's length is not that of its parts";
constexpr const char* no_text =
    "a text of the option is longer than 4096 bytes, not UTF-8, or holds a NUL";

void note_wish(InfoQuestion& question, Info wish) {
    switch (wish) {
        case Info::name:
            question.name = true;
            return;
        case Info::description:
            question.description = true;
            return;
        case Info::block_size:
            // always sent, but a client that asks for them respects them
            question.block_sizes = true;
            return;
        case Info::exp:
            return;  // always sent
    }
    // An unknown type is ignored, as the protocol requires, so newer clients can ask for more.
}

// Removes a string with its length from the front.
Result<std::string_view, const char*> take_string(std::span<const std::byte>& from) {
    if (from.size() < sizeof(uint32_t)) return too_short;
    const size_t bytes = load_be<uint32_t>(from, 0);
    from = from.subspan(sizeof(uint32_t));
    if (bytes > from.size()) return too_short;
    const std::string_view text = as_text(from.first(bytes));
    from = from.subspan(bytes);
    if (!valid_string(text)) return no_text;
    return text;
}

}  // namespace

Result<InfoQuestion, const char*> parse_info_question(std::span<const std::byte> data) {
    const auto name = take_string(data);
    if (!name) return name.error();
    if (data.size() < sizeof(uint16_t)) return too_short;
    const size_t wishes = load_be<uint16_t>(data, 0);
    data = data.subspan(sizeof(uint16_t));
    if (data.size() != wishes * sizeof(uint16_t)) return wrong_length;

    InfoQuestion question{.exp = *name};
    for (size_t i = 0; i < wishes; ++i) {
        const size_t at = i * sizeof(uint16_t);
        assert(at + sizeof(uint16_t) <= data.size());
        note_wish(question, Info{load_be<uint16_t>(data, at)});
    }
    return question;
}

Result<ContextQuestion, const char*> parse_context_question(std::span<const std::byte> data) {
    const auto name = take_string(data);
    if (!name) return name.error();
    if (data.size() < sizeof(uint32_t)) return too_short;
    const uint32_t queries = load_be<uint32_t>(data, 0);
    data = data.subspan(sizeof(uint32_t));
    ContextQuestion question{.exp = *name, .any_query = queries > 0};
    // Each query takes at least four bytes of the data, so a large count ends early.
    for (uint32_t i = 0; i < queries; ++i) {
        const auto query = take_string(data);
        if (!query) return query.error();
        // Unknown namespaces, leaves and forms of queries are ignored.
        if (*query == base_allocation) question.names_allocation = true;
        if (*query == base_namespace) question.names_all_of_base = true;
    }
    if (!data.empty()) return wrong_length;
    return question;
}

}  // namespace blkscope::nbd
