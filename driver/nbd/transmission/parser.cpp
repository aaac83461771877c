#include "driver/nbd/transmission/parser.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <span>
#include <utility>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

static_assert(Parser::rx_bytes_max > extended_request_bytes + status_payload_bytes);
static_assert(extended_request_bytes >= request_bytes);

}  // namespace

Parser::Parser(const RequestRules& rules)
    : rules_(rules),
      header_bytes_(rules.terms.replies == ReplyForm::extended ? extended_request_bytes
                                                               : request_bytes),
      rx_(std::make_unique_for_overwrite<std::byte[]>(rx_bytes_max)) {}

bool Parser::is_between_requests() const {
    return state_ == State::header && rx_bytes() == 0;
}

bool Parser::is_in_payload() const {
    return state_ == State::payload || state_ == State::skipping;
}

// ---- Bytes in ----

std::span<const iovec> Parser::places() {
    assert(incoming_bytes_ == 0);
    assert(state_ != State::over);
    assert(rx_begin_ <= rx_end_);
    if (rx_begin_ > 0) {
        std::memmove(rx_.get(), rx_.get() + rx_begin_, rx_bytes());
        rx_end_ -= std::exchange(rx_begin_, 0);
    }
    const size_t room = after_large_write_ ? header_bytes_ - rx_end_ : rx_bytes_max - rx_end_;
    assert(room > 0 && room <= rx_bytes_max - rx_end_);
    size_t count = 0;
    if (state_ == State::payload) {
        assert(done_ < total_ && rx_end_ == 0);
        places_[count++] = {place_ + done_, total_ - done_};
    }
    places_[count++] = {rx_.get() + rx_end_, room};
    return {places_.data(), count};
}

void Parser::received(size_t bytes) {
    assert(bytes > 0 && incoming_bytes_ == 0);
    if (state_ == State::payload) {
        const auto in_place = std::min<uint64_t>(bytes, total_ - done_);
        done_ += in_place;
        bytes -= in_place;
    }
    assert(bytes <= rx_bytes_max - rx_end_);
    rx_end_ += bytes;
}

// ---- Requests out ----

Parser::Event Parser::next() {
    switch (state_) {
        case State::header:
            return next_request();
        case State::payload:
            return take_payload();
        case State::skipping:
            return skip_payload();
        case State::over:
            break;
    }
    return last_;
}

Parser::Event Parser::refuse_stream(Event why) {
    assert(incoming_bytes_ == 0);
    assert(why == Event::lost || why == Event::disconnect);
    state_ = State::over;
    last_ = why;
    return why;
}

Result<Request, std::errc> Parser::parse_header() const {
    assert(rx_bytes() >= header_bytes_);
    const std::byte* from = rx_.get() + rx_begin_;
    if (rules_.terms.replies == ReplyForm::extended) {
        return parse_extended_request(
            std::span<const std::byte, extended_request_bytes>(from, extended_request_bytes));
    }
    return parse_request(std::span<const std::byte, request_bytes>(from, request_bytes));
}

// A client with shorter headers would wait for a reply, and the server for the rest of a header.
bool Parser::begins_wrong() const {
    std::array<std::byte, sizeof(request_magic)> magic{};
    const bool extended = rules_.terms.replies == ReplyForm::extended;
    store_be(std::span(magic), extended ? extended_request_magic : request_magic);
    return std::memcmp(rx_.get() + rx_begin_, magic.data(), std::min(rx_bytes(), magic.size())) !=
           0;
}

Parser::Event Parser::next_request() {
    if (incoming_bytes_ > 0) return Event::request;
    if (rx_bytes() < header_bytes_) {
        return begins_wrong() ? refuse_stream(Event::lost) : Event::need_bytes;
    }
    const auto header = parse_header();
    if (!header) return refuse_stream(Event::lost);
    if (header->type == Command::disc) return refuse_stream(Event::disconnect);
    incoming_.header = *header;
    size_t bytes = header_bytes_;
    if (has_status_payload(*header, rules_.terms.replies)) {
        after_large_write_ = false;  // the rx buffer must have room for the payload
        if (rx_bytes() < header_bytes_ + status_payload_bytes) return Event::need_bytes;
        if (find_status_payload()) bytes += status_payload_bytes;
    }
    assert(bytes <= rx_bytes());
    incoming_bytes_ = bytes;
    incoming_.refusal = rules_.refusal(incoming_.header);
    incoming_.payload_bytes = rules_.payload_bytes(incoming_.header);
    incoming_.ends_stream = incoming_.refusal != 0 && incoming_.payload_bytes > skip_bytes_max;
    return Event::request;
}

// False: the payload names an unknown context. The request is then refused and its payload skipped.
bool Parser::find_status_payload() {
    assert(rx_bytes() >= header_bytes_ + status_payload_bytes);
    const auto request = with_status_payload(
        incoming_.header, std::span<const std::byte, status_payload_bytes>(
                              rx_.get() + rx_begin_ + header_bytes_, status_payload_bytes));
    if (request) incoming_.header = *request;
    return request.has_value();
}

void Parser::take(std::byte* place) {
    assert(state_ == State::header);
    assert(incoming_bytes_ > 0);
    assert(incoming_bytes_ <= rx_bytes());
    rx_begin_ += std::exchange(incoming_bytes_, 0);
    const bool refused = incoming_.refusal != 0;
    const uint64_t payload = incoming_.payload_bytes;
    after_large_write_ = !refused && payload >= large_write_bytes;
    if (incoming_.ends_stream || payload == 0) return;
    assert(refused || place != nullptr);
    state_ = refused ? State::skipping : State::payload;
    place_ = place;
    total_ = refused && planted("skip-off-by-one") ? payload - 1 : payload;
    done_ = 0;
}

// Moves the payload's bytes from the rx buffer to their place.
Parser::Event Parser::take_payload() {
    assert(place_ != nullptr);
    assert(done_ <= total_);
    const auto bytes = std::min<uint64_t>(rx_bytes(), total_ - done_);
    if (bytes > 0) std::memcpy(place_ + done_, rx_.get() + rx_begin_, bytes);
    rx_begin_ += bytes;
    done_ += bytes;
    assert(done_ <= total_);
    if (done_ < total_) return Event::need_bytes;
    state_ = State::header;
    place_ = nullptr;
    return Event::payload_complete;
}

Parser::Event Parser::skip_payload() {
    assert(done_ <= total_);
    assert(incoming_bytes_ == 0);
    const auto bytes = std::min<uint64_t>(rx_bytes(), total_ - done_);
    rx_begin_ += bytes;
    done_ += bytes;
    assert(done_ <= total_);
    if (done_ < total_) return Event::need_bytes;
    state_ = State::header;
    return Event::payload_complete;
}

}  // namespace blkscope::nbd
