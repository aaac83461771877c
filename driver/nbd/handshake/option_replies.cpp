#include "driver/nbd/handshake/option_replies.hpp"

namespace blkscope::nbd {

void OptionReplies::put(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void OptionReplies::reply(OptionReply type, size_t data_bytes) {
    assert(data_bytes <= UINT32_MAX);
    put(option_reply_magic);
    put(static_cast<uint32_t>(option_));
    put(static_cast<uint32_t>(type));
    put(static_cast<uint32_t>(data_bytes));
}

void OptionReplies::refuse(OptionReply error, std::string_view why) {
    assert((static_cast<uint32_t>(error) & 0x8000'0000) != 0);
    reply(error, why.size());
    put(why);
}

void OptionReplies::listed(const ExportInfo& exp) {
    reply(OptionReply::server, sizeof(uint32_t) + exp.name.size() + exp.description.size());
    put(static_cast<uint32_t>(exp.name.size()));
    put(exp.name);
    put(exp.description);
}

void OptionReplies::text_info(Info what, std::string_view text) {
    reply(OptionReply::info, sizeof(uint16_t) + text.size());
    put(static_cast<uint16_t>(what));
    put(text);
}

void OptionReplies::infos(const ExportInfo& exp, uint16_t flags, bool name, bool description) {
    reply(OptionReply::info, 12);
    put(static_cast<uint16_t>(Info::exp));
    put(exp.size_bytes);
    put(flags);
    // The listed name, which a client of the default export has no other way to find.
    if (name) text_info(Info::name, exp.name);
    if (description && !exp.description.empty()) text_info(Info::description, exp.description);
    // Sent even if not asked for, so that every client can respect the sizes.
    reply(OptionReply::info, 14);
    put(static_cast<uint16_t>(Info::block_size));
    put(exp.block_size.minimum);
    put(exp.block_size.preferred);
    put(exp.block_size.maximum);
}

}  // namespace blkscope::nbd
