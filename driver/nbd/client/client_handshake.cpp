#include "driver/nbd/client/client_handshake.hpp"

#include <fmt/format.h>

#include <bit>
#include <cassert>
#include <utility>

#include "driver/nbd/text.hpp"

namespace blkscope::nbd {
namespace {

constexpr size_t export_info_bytes = 12;  // the type, the size, the flags
constexpr size_t block_info_bytes = 14;   // the type, three sizes
constexpr size_t export_answer_bytes = 10;

template <std::unsigned_integral T>
void append_number(std::vector<std::byte>& to, T value) {
    std::array<std::byte, sizeof(T)> bytes{};
    store_be<T>(bytes, value);
    to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_text(std::vector<std::byte>& to, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

std::string text_of(std::span<const std::byte> bytes) {
    return printable_message({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The server's reason for not serving the export.
std::string_view reason_of(OptionReply refusal) {
    switch (refusal) {
        case OptionReply::err_policy:
            return "the server does not allow it";
        case OptionReply::err_tls_reqd:
            return "the server requires TLS";
        case OptionReply::err_unknown:
            return "the server has no such export";
        case OptionReply::err_shutdown:
            return "the server is shutting down";
        case OptionReply::err_block_size_reqd:
            return "the server has block sizes that this client does not keep";
        default:
            return "the server refuses it";
    }
}

bool is_possible(const BlockSize& size) {
    return std::has_single_bit(size.minimum) && size.minimum <= 65536 &&
           size.preferred >= size.minimum && size.maximum >= size.minimum;
}

}  // namespace

ClientHandshake::ClientHandshake(ClientWishes wishes) : wishes_(std::move(wishes)) {
    assert(wishes_.export_name.size() <= string_bytes_max);
}

void ClientHandshake::expect(State state, size_t bytes) {
    state_ = state;
    missing_ = bytes;
    in_.clear();
}

ClientHandshake::Step ClientHandshake::feed(std::span<const std::byte> bytes) {
    assert(!bytes.empty());
    assert(bytes.size() <= missing_);
    out_.clear();
    in_.insert(in_.end(), bytes.begin(), bytes.end());
    missing_ -= bytes.size();
    return missing_ > 0 ? go_on() : take_message();
}

ClientHandshake::Step ClientHandshake::take_message() {
    switch (state_) {
        case State::greeting:
            return take_greeting();
        case State::reply_header:
            return take_reply_header();
        case State::reply_data:
            return take_reply();
        case State::export_name:
            return take_export();
        case State::starting_tls:
        case State::ended:
            break;
    }
    assert(false);
    return fail("");
}

ClientHandshake::Step ClientHandshake::take_greeting() {
    if (load_be<uint64_t>(in_, 0) != init_magic || load_be<uint64_t>(in_, 8) != option_magic) {
        return fail("the address is not one of an NBD server of the newstyle");
    }
    server_flags_ = load_be<uint16_t>(in_, 16);
    const bool fixed = (server_flags_ & handshake_flag::fixed_newstyle) != 0;
    const bool short_end = (server_flags_ & handshake_flag::no_zeroes) != 0;
    append_number<uint32_t>(
        out_, (fixed ? client_flag::fixed_newstyle : 0) | (short_end ? client_flag::no_zeroes : 0));
    if (wishes_.tls && !fixed) return fail("the server has no TLS");
    if (wishes_.tls) return ask(Option::starttls);
    return fixed ? ask_for_form() : ask_by_name();
}

ClientHandshake::Step ClientHandshake::go_on_in_tls() {
    assert(state_ == State::starting_tls);
    out_.clear();
    return ask_for_form();
}

ClientHandshake::Step ClientHandshake::ask_for_form() {
    if (wishes_.replies_max == ReplyForm::extended) return ask(Option::extended_headers);
    if (wishes_.replies_max == ReplyForm::structured) return ask(Option::structured_reply);
    return ask_for_export();
}

// ---- Answers ----

ClientHandshake::Step ClientHandshake::take_reply_header() {
    if (load_be<uint64_t>(in_, 0) != option_reply_magic) {
        return fail("the server's answer to an option has a wrong magic number");
    }
    if (load_be<uint32_t>(in_, 8) != static_cast<uint32_t>(asked_)) {
        return fail("the server answers an option that was not asked");
    }
    if (++replies_ > replies_max) return fail("the server's answers to an option have no end");
    reply_ = OptionReply{load_be<uint32_t>(in_, 12)};
    const auto bytes = load_be<uint32_t>(in_, 16);
    if (bytes > reply_bytes_max) {
        return fail(fmt::format("the server's answer to an option has {} bytes", bytes));
    }
    expect(State::reply_data, bytes);
    return bytes > 0 ? go_on() : take_reply();
}

ClientHandshake::Step ClientHandshake::take_reply() {
    if ((static_cast<uint32_t>(reply_) >> 31) != 0) return take_refusal();
    if (reply_ == OptionReply::ack) return after(asked_);
    if (reply_ == OptionReply::info && asked_ == Option::go) return take_info();
    if (reply_ == OptionReply::meta_context && asked_ == Option::set_meta_context) {
        return take_context();
    }
    return fail("the server's answer to an option is of another option");
}

// Each option but the last may be refused.
ClientHandshake::Step ClientHandshake::take_refusal() {
    switch (asked_) {
        case Option::extended_headers:
            return ask(Option::structured_reply);
        case Option::structured_reply:
        case Option::set_meta_context:
            remote_.terms.allocation = false;
            return ask_for_export();
        case Option::starttls:
            return fail("the server has no TLS, or does not allow it");
        default:
            break;
    }
    if (reply_ == OptionReply::err_unsup) return ask_by_name();
    const std::string said = text_of(in_);
    return fail(fmt::format("export '{}': {}{}{}", printable(wishes_.export_name),
                            reason_of(reply_), said.empty() ? "" : ": ", said));
}

// An acknowledged option.
ClientHandshake::Step ClientHandshake::after(Option option) {
    switch (option) {
        case Option::extended_headers:
            remote_.terms.replies = ReplyForm::extended;
            return ask_for_context();
        case Option::structured_reply:
            remote_.terms.replies = ReplyForm::structured;
            return ask_for_context();
        case Option::set_meta_context:
            return ask_for_export();
        case Option::starttls:
            expect(State::starting_tls, 0);
            return {.send = {}, .next = Next::start_tls};
        default:
            break;
    }
    if (!has_export_) return fail("the server tells nothing about the export");
    return end();
}

ClientHandshake::Step ClientHandshake::take_info() {
    if (in_.size() < sizeof(uint16_t)) return fail("the server's information has no type");
    const auto type = Info{load_be<uint16_t>(in_, 0)};
    if (type == Info::exp) {
        if (in_.size() != export_info_bytes) return fail("the export's size has a wrong length");
        remote_.size_bytes = load_be<uint64_t>(in_, 2);
        remote_.transmission_flags = load_be<uint16_t>(in_, 10);
        has_export_ = true;
    } else if (type == Info::block_size) {
        if (in_.size() != block_info_bytes) return fail("the block sizes have a wrong length");
        remote_.block_size = {.minimum = load_be<uint32_t>(in_, 2),
                              .preferred = load_be<uint32_t>(in_, 6),
                              .maximum = load_be<uint32_t>(in_, 10)};
        remote_.terms.block_sizes = true;
        if (!is_possible(remote_.block_size))
            return fail("the export's block sizes are impossible");
    }
    expect(State::reply_header, option_reply_header_bytes);
    return go_on();
}

ClientHandshake::Step ClientHandshake::take_context() {
    const auto name = std::as_bytes(std::span(base_allocation));
    const auto said = std::span<const std::byte>(in_);
    if (said.size() != sizeof(uint32_t) + name.size() ||
        !std::equal(name.begin(), name.end(), said.begin() + sizeof(uint32_t))) {
        return fail("the server selects a metadata context that was not asked");
    }
    remote_.allocation_id = load_be<uint32_t>(in_, 0);
    remote_.terms.allocation = true;
    expect(State::reply_header, option_reply_header_bytes);
    return go_on();
}

// The answer to EXPORT_NAME has no header.
ClientHandshake::Step ClientHandshake::take_export() {
    remote_.size_bytes = load_be<uint64_t>(in_, 0);
    remote_.transmission_flags = load_be<uint16_t>(in_, 8);
    return end();
}

// ---- Questions ----

ClientHandshake::Step ClientHandshake::ask(Option option, std::span<const std::byte> data) {
    append_number<uint64_t>(out_, option_magic);
    append_number<uint32_t>(out_, static_cast<uint32_t>(option));
    append_number<uint32_t>(out_, static_cast<uint32_t>(data.size()));
    out_.insert(out_.end(), data.begin(), data.end());
    asked_ = option;
    expect(State::reply_header, option_reply_header_bytes);
    return go_on();
}

ClientHandshake::Step ClientHandshake::ask_for_context() {
    if (!wishes_.allocation) return ask_for_export();
    std::vector<std::byte> data;
    append_number(data, static_cast<uint32_t>(wishes_.export_name.size()));
    append_text(data, wishes_.export_name);
    append_number<uint32_t>(data, 1);
    append_number(data, static_cast<uint32_t>(base_allocation.size()));
    append_text(data, base_allocation);
    return ask(Option::set_meta_context, data);
}

ClientHandshake::Step ClientHandshake::ask_for_export() {
    std::vector<std::byte> data;
    append_number(data, static_cast<uint32_t>(wishes_.export_name.size()));
    append_text(data, wishes_.export_name);
    append_number<uint16_t>(data, 1);
    append_number(data, static_cast<uint16_t>(Info::block_size));
    return ask(Option::go, data);
}

ClientHandshake::Step ClientHandshake::ask_by_name() {
    static_cast<void>(ask(Option::export_name, std::as_bytes(std::span(wishes_.export_name))));
    const bool zeroes = (server_flags_ & handshake_flag::no_zeroes) == 0;
    expect(State::export_name, export_answer_bytes + (zeroes ? export_name_zeroes : 0));
    return go_on();
}

ClientHandshake::Step ClientHandshake::go_on() {
    return {.send = out_, .next = Next::go_on};
}

ClientHandshake::Step ClientHandshake::end() {
    expect(State::ended, 0);
    return {.send = out_, .next = Next::transmission};
}

ClientHandshake::Step ClientHandshake::fail(std::string why) {
    failure_ = std::move(why);
    expect(State::ended, 0);
    return {.send = {}, .next = Next::failed};
}

}  // namespace blkscope::nbd
