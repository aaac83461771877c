#include "driver/nbd/client/requester.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/transmission/plain_transport.hpp"

namespace blkscope::nbd {
namespace {

// How often the requests under way are looked at.
constexpr hrtime_t watch_ns = 500'000'000;

// Returns the header's length.
size_t encode_header(std::span<std::byte, extended_request_bytes> to, Request request,
                     bool extended) {
    if (!extended) {
        encode_request(to.first<request_bytes>(), request);
        return request_bytes;
    }
    if (request.type == Command::write) request.flags |= command_flag::payload_len;
    encode_extended_request(to, request);
    return extended_request_bytes;
}

// The owner's constructor needs the rest of the connection before.
std::unique_ptr<Transport> transport_of(TransportOwner& owner, Ring& ring,
                                        RemoteConnection connection) {
    const int socket = connection.socket.release();
    if (connection.tls) return make_transport(owner, ring, socket, std::move(connection.tls));
    return std::make_unique<PlainTransport>(owner, ring, socket, PlainTransport::Receives::at_once);
}

}  // namespace

Requester::Requester(RequesterOwner& owner, Ring& ring, RemoteConnection connection,
                     hrtime_t patience_ns, Receives receives)
    : owner_(owner),
      ring_(ring),
      extended_(connection.remote.terms.replies == ReplyForm::extended),
      patience_ns_(patience_ns),
      receives_(receives),
      parser_(connection.remote.terms.replies, connection.remote.allocation_id, *this),
      transport_(transport_of(*this, ring, std::move(connection))) {
    assert(patience_ns_ > 0);
    pieces_.reserve(pieces_max);
    ring_.set_alarm(*this, ring_.now() + kernel_ticks(ring_.kernel(), watch_ns), false);
    receive();
}

Requester::~Requester() {
    assert(is_closed());
    assert(!is_listed_);
}

// ---- Requests ----

void Requester::send(RemoteRequest& request) {
    assert(!closing_);
    assert(request.next == nullptr && !request.in_send);
    request.error = request.errors = 0;
    request.covered = 0;
    request.has_status = false;
    request.hole_count = 0;
    request.sent = request.answered = 0;
    owe(request);
    waiting_.push(request);
    if (!is_listed_) ring_.completed(turn_end_, 0);
    is_listed_ = true;
}

// A cookie names a place and how often it was used. So a second answer to a request is noticed.
void Requester::owe(RemoteRequest& request) {
    if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const uint32_t place = free_slots_.back();
    free_slots_.pop_back();
    Slot& slot = slots_[place];
    assert(slot.request == nullptr);
    slot.request = &request;
    request.request.cookie = uint64_t{++slot.uses} << 32 | place;
    ++owed_count_;
    ++to_come_;
}

OwedReply* Requester::find(uint64_t cookie) {
    const auto place = static_cast<uint32_t>(cookie);
    if (place >= slots_.size()) return nullptr;
    if (slots_[place].uses != cookie >> 32 && !planted("old-cookie-answers")) return nullptr;
    RemoteRequest* const request = slots_[place].request;
    return request != nullptr && request->sent > 0 ? request : nullptr;
}

void Requester::give_back(RemoteRequest& request) {
    assert(request.answered > 0 && !request.in_send);
    assert(owed_count_ > 0);
    --owed_count_;
    owner_.answered(request);
}

// ---- Sending ----

void Requester::TurnEnd::complete(int32_t /*result*/) {
    assert(requester_.is_listed_);
    requester_.is_listed_ = false;
    requester_.send_waiting();
    if (!requester_.transport_->is_receiving()) requester_.receive();
}

void Requester::drop_unsent() {
    while (!waiting_.empty()) {
        const auto place = static_cast<uint32_t>(waiting_.pop().request.cookie);
        assert(slots_[place].request != nullptr && owed_count_ > 0);
        slots_[place].request = nullptr;
        free_slots_.push_back(place);
        --owed_count_;
        --to_come_;
    }
}

void Requester::send_waiting() {
    if (lost_ || closing_ || transport_->is_sending() || waiting_.empty()) return;
    pieces_.clear();
    pieces_sent_ = bytes_left_ = 0;
    const hrtime_t now = ring_.now();
    while (!waiting_.empty() && pieces_.size() + 2 <= pieces_max && bytes_left_ < send_bytes_max) {
        RemoteRequest& request = waiting_.pop();
        request.sent = now;
        request.in_send = true;
        in_send_.push(request);
        add_piece(request.header.data(), encode_header(request.header, request.request, extended_));
        if (request.request.type != Command::write || request.request.length == 0) continue;
        assert(request.payload != nullptr);
        add_piece(request.payload, request.request.length);
    }
    send_pieces();
}

void Requester::add_piece(const std::byte* from, size_t bytes) {
    pieces_.push_back({const_cast<std::byte*>(from), bytes});
    bytes_left_ += bytes;
}

void Requester::send_pieces() {
    transport_->send(std::span(pieces_).subspan(pieces_sent_), bytes_left_);
}

void Requester::sent(int32_t result) {
    if (lost_) return;
    if (closing_) return transport_->cut();
    if (result < 0) return lose(transport_->reason(result));
    auto bytes = static_cast<size_t>(result);
    assert(bytes <= bytes_left_);
    bytes_left_ -= bytes;
    while (bytes > 0) {
        iovec& piece = pieces_[pieces_sent_];
        const size_t part = std::min(bytes, piece.iov_len);
        piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
        piece.iov_len -= part;
        bytes -= part;
        if (piece.iov_len == 0) ++pieces_sent_;
    }
    if (bytes_left_ > 0) return send_pieces();
    while (!in_send_.empty() && !closing_ && !lost_) {
        RemoteRequest& request = in_send_.pop();
        request.in_send = false;
        if (request.answered > 0) give_back(request);
    }
    send_waiting();
}

// ---- Receiving ----

void Requester::receive() {
    if (lost_ || closing_ || (to_come_ == 0 && receives_ == Receives::while_owed)) return;
    const std::span<std::byte> place = parser_.place();
    const iovec one{place.data(), place.size()};
    transport_->receive({&one, 1});
}

void Requester::received(int32_t result) {
    if (lost_ || closing_) return;
    if (result == 0) return lose("the server has closed the connection");
    if (result < 0) return lose(transport_->reason(result));
    parser_.received(static_cast<size_t>(result));
    take_answers();
    receive();
}

// A request may be answered before the send of which it is a part has ended.
void Requester::take_answers() {
    const hrtime_t now = ring_.now();
    while (!lost_ && !closing_) {
        switch (parser_.next()) {
            case ReplyParser::Event::need_bytes:
                return;
            case ReplyParser::Event::lost:
                return lose(parser_.why());
            case ReplyParser::Event::answered:
                break;
        }
        auto& request = static_cast<RemoteRequest&>(parser_.answered());
        const auto place = static_cast<uint32_t>(request.request.cookie);
        assert(slots_[place].request == &request);
        slots_[place].request = nullptr;
        free_slots_.push_back(place);
        assert(to_come_ > 0);
        --to_come_;
        request.answered = now;
        if (!request.in_send) give_back(request);
    }
}

// ---- The end ----

bool Requester::is_late(const RemoteRequest& request, hrtime_t now) const {
    assert(request.sent > 0);
    const hrtime_t patience = kernel_ticks(ring_.kernel(), patience_ns_);
    const hrtime_t since = request.since > 0 ? request.since : request.sent;
    return now - since >= patience && now - request.sent >= patience / 4;
}

void Requester::due() {
    if (lost_) return;
    if (closing_) return transport_->cut();  // the server does not take the goodbye
    if (owed_count_ == 0 && !transport_->is_receiving() &&
        (transport_->has_input() || !parser_.is_between_replies())) {
        return lose("the server has closed the connection, or says what nobody asked");
    }
    const hrtime_t now = ring_.now();
    if (!in_send_.empty() && is_late(in_send_.front(), now)) {
        return lose("the server has not taken a request in time");
    }
    for (const Slot& slot : slots_) {
        const RemoteRequest* const request = slot.request;
        if (request == nullptr || request->sent == 0 || !is_late(*request, now)) continue;
        return lose("the server has not answered a request in time");
    }
    ring_.set_alarm(*this, now + kernel_ticks(ring_.kernel(), watch_ns), false);
}

void Requester::lose(std::string_view why) {
    if (lost_ || closing_) return;
    lost_ = true;
    transport_->cut();
    owner_.lost(why);
}

void Requester::leave() {
    assert(is_closed());
    closing_ = true;
    if (lost_) return;
    const size_t bytes = encode_header(farewell_, {.type = Command::disc}, extended_);
    transport_->send_last(std::span(farewell_).first(bytes));
}

void Requester::close() {
    if (closing_) return;
    closing_ = true;
    if (lost_ || transport_->is_sending()) return transport_->cut();
    pieces_.clear();
    pieces_sent_ = bytes_left_ = 0;
    add_piece(farewell_.data(), encode_header(farewell_, {.type = Command::disc}, extended_));
    send_pieces();
}

bool Requester::is_closed() const {
    return !transport_->is_receiving() && !transport_->is_sending() && !is_listed_;
}

}  // namespace blkscope::nbd
