#include "introduction.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace blkscope::simulation {
namespace {

using nbd::Info;
using nbd::Option;
using nbd::OptionReply;
using nbd::ReplyForm;

constexpr uint64_t detours_max = 4;
constexpr Option unknown_option{4711};

template <class T>
T value_at(const std::byte* from) {
    return nbd::load_be<T>(std::span<const std::byte, sizeof(T)>(from, sizeof(T)));
}

template <class T>
std::string be(T value) {
    std::array<std::byte, sizeof(T)> bytes;
    nbd::store_be<T>(std::span<std::byte, sizeof(T)>(bytes), value);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append(std::vector<std::byte>& to, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

std::string counted(std::string_view text) {
    return be(static_cast<uint32_t>(text.size())) + std::string(text);
}

}  // namespace

std::vector<std::byte> said_option(Option option, std::string_view data) {
    std::vector<std::byte> bytes;
    append(bytes, be(nbd::option_magic));
    append(bytes, be(static_cast<uint32_t>(option)));
    append(bytes, counted(data));
    assert(bytes.size() == nbd::option_header_bytes + data.size());
    return bytes;
}

std::string info_question(std::string_view name, const std::vector<Info>& wishes) {
    std::string data = counted(name) + be(static_cast<uint16_t>(wishes.size()));
    for (const Info wish : wishes) data += be(static_cast<uint16_t>(wish));
    return data;
}

std::string context_question(std::string_view name, std::string_view query) {
    return counted(name) + be(uint32_t{1}) + counted(query);
}

Introduction::Introduction(const Invitation& invitation, Random& random)
    : invitation_(invitation), no_zeroes_(random.one_in(2)), all_at_once_(random.one_in(4)) {
    const std::string& name = invitation_.export_name;
    if (invitation_.tls) draw_start_of_tls(random);
    const bool listed = random.one_in(4);
    if (listed) to_say_.push_back({Option::list, {}, OptionReply::ack});
    for (uint64_t i = random.below(detours_max); i > 0; --i) {
        to_say_.push_back(draw_detour(random));
    }
    if (invitation_.form != ReplyForm::simple) {
        const bool extended = invitation_.form == ReplyForm::extended;
        const Option form = extended ? Option::extended_headers : Option::structured_reply;
        to_say_.push_back({form, {}, OptionReply::ack});
        if (random.one_in(4)) to_say_.push_back({form, {}, OptionReply::err_invalid});
        to_say_.push_back({Option::set_meta_context, context_question(name, nbd::base_allocation),
                           OptionReply::ack});
        if (random.one_in(4)) to_say_.push_back(draw_detour(random));
    }
    const bool by_name = invitation_.form != ReplyForm::extended && random.one_in(3);
    std::vector<Info> wishes;
    const bool asks_sizes = random.one_in(2);
    asked_for_sizes_ = asks_sizes && !by_name;
    if (asks_sizes) wishes.push_back(Info::block_size);
    if (random.one_in(2)) wishes.push_back(Info::name);
    if (random.one_in(2)) wishes.push_back(Info::description);
    if (by_name) {
        to_say_.push_back({Option::export_name, name, OptionReply::ack});
    } else {
        to_say_.push_back({Option::go, info_question(name, wishes), OptionReply::ack});
    }
    if (!must_fail()) return;
    for (Said& said : to_say_) said.answer = OptionReply::err_tls_reqd;
}

// An agreement from before TLS is void, so the client can reach the same one again.
void Introduction::draw_start_of_tls(Random& random) {
    const bool required = invitation_.mode == nbd::TlsMode::require;
    const bool served = invitation_.mode != nbd::TlsMode::off;
    if (served && random.one_in(3)) {
        to_say_.push_back({Option::structured_reply,
                           {},
                           required ? OptionReply::err_tls_reqd : OptionReply::ack});
    }
    to_say_.push_back({Option::starttls, {}, served ? OptionReply::ack : OptionReply::err_policy});
}

Introduction::Said Introduction::draw_detour(Random& random) const {
    const std::string& name = invitation_.export_name;
    switch (random.below(7)) {
        case 0:
            return {Option::info, info_question(name, {Info::name}), OptionReply::ack};
        case 1:
            return {Option::info, info_question("nobody", {}), OptionReply::err_unknown};
        case 2:
            return {Option::go, info_question("nobody", {}), OptionReply::err_unknown};
        case 3:
            return {unknown_option, std::string(random.below(3000), 'x'), OptionReply::err_unsup};
        case 4:
            return {Option::peek_export, {}, OptionReply::err_unsup};
        case 5:
            return {Option::list_meta_context, context_question(name, "base:"), OptionReply::ack};
        default:
            return {Option::info, "half", OptionReply::err_invalid};
    }
}

void Introduction::complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = "in its handshake: " + what;
}

// The last option waits for the answers to the others, so that its own answer is separate.
void Introduction::say(std::vector<std::byte>& out) {
    while (!to_say_.empty() && (unanswered_.empty() || (all_at_once_ && to_say_.size() > 1))) {
        const bool in_clear =
            invitation_.tls && invitation_.mode != nbd::TlsMode::off && !tls_begun_;
        if (in_clear && !unanswered_.empty()) return;  // nothing may be sent together with STARTTLS
        Said next = std::move(to_say_.front());
        to_say_.pop_front();
        const auto bytes = said_option(next.option, next.data);
        out.insert(out.end(), bytes.begin(), bytes.end());
        if (next.option == Option::export_name) state_ = State::export_name;
        unanswered_.push_back(std::move(next));
    }
}

size_t Introduction::hear(const std::byte* bytes, size_t count, std::vector<std::byte>& out) {
    assert(bytes != nullptr && count > 0);
    switch (state_) {
        case State::greeting:
            return hear_greeting(bytes, count, out);
        case State::options:
            return hear_reply(bytes, count, out);
        case State::export_name:
            return hear_export(bytes, count);
        case State::done:
        case State::refused:
            break;
    }
    return 0;
}

size_t Introduction::hear_greeting(const std::byte* bytes, size_t count,
                                   std::vector<std::byte>& out) {
    if (count < nbd::greeting_bytes) return 0;
    if (value_at<uint64_t>(bytes) != nbd::init_magic ||
        value_at<uint64_t>(bytes + 8) != nbd::option_magic || value_at<uint16_t>(bytes + 16) != 3) {
        complain("a malformed greeting");
    }
    const uint32_t flags = no_zeroes_ ? 3 : 1;
    append(out, be(flags));
    state_ = State::options;
    say(out);
    return nbd::greeting_bytes;
}

size_t Introduction::hear_reply(const std::byte* bytes, size_t count, std::vector<std::byte>& out) {
    if (count < nbd::option_reply_header_bytes) return 0;
    const auto length = value_at<uint32_t>(bytes + 16);
    if (value_at<uint64_t>(bytes) != nbd::option_reply_magic ||
        length > 2 * nbd::string_bytes_max) {
        complain("a malformed option reply");
        return count;
    }
    if (count < nbd::option_reply_header_bytes + length) return 0;
    if (unanswered_.empty()) {
        complain("a reply without an option");
        return count;
    }
    const Said asked = unanswered_.front();
    const auto type = static_cast<OptionReply>(value_at<uint32_t>(bytes + 12));
    if (value_at<uint32_t>(bytes + 8) != static_cast<uint32_t>(asked.option)) {
        complain("a reply to another option");
    }
    const bool last = type == OptionReply::ack || (static_cast<uint32_t>(type) >> 31) != 0;
    if (last) {
        unanswered_.pop_front();
        answered(asked, type);
        if (state_ == State::options) say(out);
    } else {
        take_part(asked, type, bytes + nbd::option_reply_header_bytes, length);
    }
    return nbd::option_reply_header_bytes + length;
}

void Introduction::take_part(const Said& asked, OptionReply type, const std::byte* data,
                             size_t bytes) {
    const bool informs = asked.option == Option::info || asked.option == Option::go;
    if (type == OptionReply::server && asked.option == Option::list) {
        ++listed_;
    } else if (type == OptionReply::info && informs && bytes >= 2) {
        if (value_at<uint16_t>(data) == static_cast<uint16_t>(Info::block_size)) {
            return check_sizes(data + sizeof(uint16_t), bytes - sizeof(uint16_t));
        }
        if (value_at<uint16_t>(data) != static_cast<uint16_t>(Info::exp)) return;
        if (bytes != 12 || value_at<uint64_t>(data + 2) != invitation_.export_bytes) {
            complain("another size than the export has");
        }
        if (bytes == 12) check_flags(value_at<uint16_t>(data + 10));
        told_size_ = true;
    } else if (type == OptionReply::meta_context && bytes > sizeof context_id_) {
        if (asked.option != Option::set_meta_context) return;
        told_context_ = true;
        context_id_ = value_at<uint32_t>(data);
    } else {
        complain("an unexpected part of a reply");
    }
}

void Introduction::answered(const Said& asked, OptionReply type) {
    if (type == OptionReply::err_unknown && asked.answer == OptionReply::ack) {
        state_ = State::refused;
        return;
    }
    if (type != asked.answer) {
        return complain("option " + std::to_string(static_cast<uint32_t>(asked.option)) +
                        " was answered with " + std::to_string(static_cast<uint32_t>(type)));
    }
    if (must_fail()) {
        if (to_say_.empty()) state_ = State::refused;
        return;
    }
    if (asked.option == Option::starttls) tls_begun_ = type == OptionReply::ack;
    if (asked.option == Option::list && listed_ != invitation_.exports) {
        complain("listed " + std::to_string(listed_) + " exports");
    }
    if (asked.option == Option::set_meta_context && told_context_ != invitation_.allocation) {
        complain("a context is set that is not offered, or one that is offered is not set");
    }
    if (asked.option != Option::go || type != OptionReply::ack) return;
    if (!told_size_) complain("an answer without the size");
    state_ = State::done;
}

// The disk of another server has what that server offers, and nothing else.
void Introduction::check_flags(uint16_t flags) {
    constexpr uint16_t of_the_form =
        nbd::transmission_flag::send_df | nbd::transmission_flag::block_status_payload;
    const auto told = static_cast<uint16_t>(flags & ~of_the_form);
    if (invitation_.flags != 0 && told != invitation_.flags) {
        complain("flags " + std::to_string(told) + ", not " + std::to_string(invitation_.flags));
    }
}

void Introduction::check_sizes(const std::byte* data, size_t bytes) {
    if (bytes != 3 * sizeof(uint32_t)) return complain("block sizes of a wrong length");
    const auto least = value_at<uint32_t>(data);
    const auto preferred = value_at<uint32_t>(data + 4);
    const auto most = value_at<uint32_t>(data + 8);
    if (least == 0 || least > preferred || preferred > most || most % least != 0) {
        complain("impossible block sizes");
    }
    const nbd::BlockSize& sizes = invitation_.sizes;
    if (sizes.minimum > 0 && (least != sizes.minimum || most != sizes.maximum)) {
        complain("other block sizes than the export has");
    }
}

size_t Introduction::hear_export(const std::byte* bytes, size_t count) {
    // Replies to earlier options come first.
    if (must_fail()) complain("served without TLS");
    const size_t wanted = 10 + (no_zeroes_ ? 0 : nbd::export_name_zeroes);
    if (count < wanted) return 0;
    if (value_at<uint64_t>(bytes) != invitation_.export_bytes) {
        complain("another size than the export has");
    }
    check_flags(value_at<uint16_t>(bytes + 8));
    const std::byte* const zeroes = bytes + 10;
    if (std::any_of(zeroes, bytes + wanted, [](std::byte b) { return b != std::byte{0}; })) {
        complain("the zeroes after EXPORT_NAME are not zero");
    }
    unanswered_.clear();
    state_ = State::done;
    return wanted;
}

}  // namespace blkscope::simulation
