#include "driver/nbd/handshake/handshake.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "driver/nbd/handshake/option_questions.hpp"

namespace blkscope::nbd {
namespace {

// Limit of one read, even of data that is dropped.
constexpr size_t read_bytes_max = size_t{64} << 10;

}  // namespace

std::optional<ReplyForm> reply_form(std::string_view word) {
    if (word == "simple") return ReplyForm::simple;
    if (word == "structured") return ReplyForm::structured;
    if (word == "extended") return ReplyForm::extended;
    return std::nullopt;
}

Handshake::Handshake(const Exports& exports, HandshakeLimits limits, TlsMode tls,
                     ReplyForm replies_max)
    : exports_(exports),
      limits_(limits),
      answers_(exports, {limits.parsed_bytes_max, tls, replies_max}, replies_) {}

std::array<std::byte, greeting_bytes> Handshake::greeting() {
    constexpr uint16_t flags = handshake_flag::fixed_newstyle | handshake_flag::no_zeroes;
    std::array<std::byte, greeting_bytes> bytes{};
    const std::span<std::byte, greeting_bytes> to(bytes);
    store_be(to.subspan<0, 8>(), init_magic);
    store_be(to.subspan<8, 8>(), option_magic);
    store_be(to.subspan<16, 2>(), flags);
    return bytes;
}

size_t Handshake::wanted() const {
    return std::min(missing_, read_bytes_max);
}

Step Handshake::feed(std::span<const std::byte> bytes) {
    assert(state_ != State::ended);
    assert(missing_ > 0);
    assert(bytes.size() <= wanted());
    replies_.clear();
    // Memory grows with the received bytes, never with the announced size.
    if (keep_) in_.insert(in_.end(), bytes.begin(), bytes.end());
    missing_ -= bytes.size();
    if (missing_ > 0) return go_on();

    switch (state_) {
        case State::client_flags:
            return take_client_flags();
        case State::option_header:
            return take_option_header();
        case State::option_data:
            return answer();
        case State::ended:
            break;  // asserted above
    }
    return close("the handshake has ended");
}

void Handshake::expect(State state, size_t bytes, bool keep) {
    state_ = state;
    missing_ = bytes;
    keep_ = keep;
    in_.clear();
}

Step Handshake::take_client_flags() {
    assert(state_ == State::client_flags);
    assert(in_.size() == client_flags_bytes);
    const auto flags = load_be<uint32_t>(in_, 0);
    if ((flags & ~(client_flag::fixed_newstyle | client_flag::no_zeroes)) != 0) {
        return close(fmt::format("client flags {:#x} contain one that was not offered", flags));
    }
    fixed_newstyle_ = (flags & client_flag::fixed_newstyle) != 0;
    if ((flags & client_flag::no_zeroes) != 0) answers_.set_no_zeroes();
    expect(State::option_header, option_header_bytes, true);
    return go_on();
}

bool Handshake::too_many_options() const {
    const uint64_t for_list =
        answers_.listed() ? uint64_t{limits_.options_per_listed_export} * exports_.size() : 0;
    return options_seen_ > limits_.options_max + for_list;
}

// All checks that close before the data is read are here.
Step Handshake::take_option_header() {
    assert(state_ == State::option_header);
    assert(in_.size() == option_header_bytes);
    const auto magic = load_be<uint64_t>(in_, 0);
    option_ = Option{load_be<uint32_t>(in_, 8)};
    option_bytes_ = load_be<uint32_t>(in_, 12);
    const auto number = static_cast<uint32_t>(option_);

    if (magic != option_magic) {
        return close(fmt::format("wrong magic {:#018x} at the start of an option", magic));
    }
    if (++options_seen_; too_many_options()) {
        return close(fmt::format("{} options without a choice of an export", options_seen_));
    }
    if (option_bytes_ > limits_.option_bytes_max) {
        return close(fmt::format("option {} of {} bytes; the limit is {}", number, option_bytes_,
                                 limits_.option_bytes_max));
    }
    // An old client would mistake an option reply for the answer to EXPORT_NAME.
    if (!fixed_newstyle_ && option_ != Option::export_name) {
        return close(fmt::format("option {} from a client without fixed newstyle", number));
    }
    if (option_ == Option::export_name && option_bytes_ > string_bytes_max) {
        return close(fmt::format("an export name of {} bytes; the limit is {}", option_bytes_,
                                 string_bytes_max));
    }
    expect(State::option_data, option_bytes_, answers_.is_parsed(option_, option_bytes_));
    return option_bytes_ == 0 ? answer() : go_on();
}

Step Handshake::answer() {
    assert(state_ == State::option_data);
    assert(missing_ == 0);
    Step step = answers_.answer({.option = option_, .bytes = option_bytes_, .data = in_});
    const bool goes_on = step.next == Step::Next::go_on || step.next == Step::Next::start_tls;
    if (goes_on) {
        expect(State::option_header, option_header_bytes, true);
    } else {
        expect(State::ended, 0, false);
    }
    step.send = replies_.bytes();
    return step;
}

Step Handshake::go_on() {
    return {.send = replies_.bytes(), .next = Step::Next::go_on, .reason = {}};
}

Step Handshake::close(std::string reason) {
    assert(!reason.empty());
    expect(State::ended, 0, false);
    reason_ = std::move(reason);
    return {.send = replies_.bytes(), .next = Step::Next::close, .reason = reason_};
}

}  // namespace blkscope::nbd
