#include "driver/nbd/transmission/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "blockdev/accounting/probes.hpp"
#include "blockdev/ring/planted.hpp"
#include "driver/nbd/transmission/session_limits.hpp"
#include "driver/nbd/transmission/sessions.hpp"

namespace blkscope::nbd {
namespace {

// A client's socket has room for one or two writes of this size. The client can send no more until
// we receive.
constexpr uint64_t filling_write_bytes = 65536;

RequestRules rules_for(const Export& exp, const Terms& terms) {
    return {.size_bytes = exp.device.size_bytes(),
            // A client that did not ask for the limit may expect a larger one.
            .payload_bytes_max =
                terms.block_sizes ? exp.info().block_size.maximum : Arena::piece_bytes_max,
            .read_only = exp.read_only,
            .terms = terms};
}

// The request has its reply, or gets none. A request that no queue has counted has no stages.
void release(PendingRequest& request, Sessions& sessions, Lane& lane, ClientMemory& memory) {
    if (request.finished > 0) {
        if (request.replied > 0) lane.replied(request);
        if (!planted("failure-unrecorded") || request.error == 0) {
            sessions.recorder().record(request);
        }
    }
    memory.release(request);
}

}  // namespace

Session::Session(Sessions& sessions, Lane& lane, Arrival arrival)
    : sessions_(sessions),
      export_(*arrival.exp),
      lane_(lane),
      chunked_(arrival.terms.replies != ReplyForm::simple),
      parser_(rules_for(export_, arrival.terms)),
      memory_(sessions.memory()),
      losses_seen_(lane.device().backing().losses()),
      replies_(arrival.terms.replies) {
    if (arrival.who) client_ = &lane_.open_client(*arrival.who, memory_.figures());
    // Last, because the transport closes the socket, and a constructor that throws must not.
    try {
        transport_ = make_transport(*this, sessions.ring(), arrival.socket, std::move(arrival.tls));
    } catch (...) {
        if (client_ != nullptr) lane_.close_client(*client_, memory_.figures());
        throw;
    }
    lane_.connection_opened();
    receive();
}

Session::~Session() {
    assert(finished());
    assert(memory_.requests_held() == 0 && incoming_ == nullptr);
    if (client_ != nullptr) lane_.close_client(*client_, memory_.figures());
    lane_.connection_closed();
    sessions_.ring().unlock();
}

bool Session::finished() const {
    const bool idle = in_device_ == 0 && !transport_->is_receiving() && !transport_->is_sending();
    if (state_ == State::open || !idle || !replies_.empty()) return false;
    return state_ == State::dead || transport_->has_sent_all();
}

// ---- Closing ----

// A session that ends already may have requests that only a loss of power ends at once.
void Session::end() {
    if (state_ == State::open) {
        state_ = State::ending;
        IntakeEntry::unlist();
        memory_.stop_waiting();
        if (transport_->is_receiving()) {
            transport_->stop_receiving();  // received() is called soon
        } else {
            drop_payload();
        }
        sessions_.needs_attention(*this);
    }
    export_.device.abandon(lane_);
}

// Releases a payload that will never be complete. During a receive the kernel still writes to it.
void Session::drop_payload() {
    assert(!transport_->is_receiving());
    if (planted("payload-kept")) incoming_ = nullptr;
    if (incoming_ != nullptr) memory_.release(*std::exchange(incoming_, nullptr));
}

void Session::close_now(std::string_view why) {
    end();
    if (state_ == State::dead) return;
    state_ = State::dead;
    if (!why.empty()) sessions_.log(export_, why);
    transport_->cut();
    const auto drop = [this](PendingRequest& request) {
        release(request, sessions_, lane_, memory_);
    };
    transport_->is_sending() ? replies_.drop_ready(drop) : replies_.drop_all(drop);
    if (in_device_ > 0) export_.device.abandon(lane_);
}

// The receive of a session says when its client has closed. A session that does not receive looks at
// its socket, once a turn.
bool Session::is_lost() {
    if (said_end_ || lost_) return lost_;
    if (state_ == State::dead) return true;
    if (state_ == State::open && !memory_.waits()) return false;
    const uint64_t turn = sessions_.ring().turn();
    if (looked_ == turn) return false;
    looked_ = turn;
    lost_ = transport_->is_broken();
    if (lost_) sessions_.needs_attention(*this);
    return lost_;
}

void Session::close_stalled(std::string_view why) {
    if (state_ != State::dead) lane_.connection_given_up();
    if (!why.empty()) return close_now(why);
    // A client without replies to read is not to blame.
    const bool is_owed = !replies_.empty() || transport_->is_sending() || in_device_ == 0;
    close_now(is_owed ? "does not read its replies, and the export closes"
                      : fmt::format("the backing has not answered {} of its requests, and the "
                                    "export closes",
                                    in_device_));
}

void Session::tick() {
    const bool owes = transport_->is_sending() || incoming_ != nullptr;
    memory_.tick(owes, transport_->bytes_moved());
    if (in_device_ > 0 && is_lost()) close_now("");
}

// ---- Receiving ----

void Session::receive() {
    if (state_ != State::open || transport_->is_receiving() || IntakeEntry::is_listed()) return;
    assert(incoming_ != nullptr || !parser_.is_in_payload());
    if (parser_.payload_bytes() >= filling_write_bytes) sessions_.ring().expect_soon();
    transport_->receive(parser_.places());
}

// A payload is received at once: the client can do nothing else until the payload is received.
void Session::receive_behind_replies() {
    if (state_ != State::open || IntakeEntry::is_listed()) return;  // resume() calls this again
    const bool in_place = parser_.payload_bytes() > 0 || parser_.expects_large_write();
    if (in_place || transport_->has_read_ahead()) return receive();
    sessions_.receives_next(*this);
}

bool Session::receive_next() {
    put_off_ = in_device_ > 0 && !put_off_;
    if (!put_off_) receive();
    return !put_off_;
}

void Session::received(int32_t result) {
    assert(!transport_->is_receiving());
    assert(!IntakeEntry::is_listed());
    if (result <= 0) stream_ended(result);
    if (state_ != State::open) {
        drop_payload();
        return sessions_.needs_attention(*this);
    }
    received_ = sessions_.ring().now();
    held_back_ = 0;
    parser_.received(static_cast<size_t>(result));
    parse();
    receive_behind_replies();
}

void Session::stream_ended(int32_t result) {
    assert(result <= 0);
    if (result < 0) return close_now(transport_->reason(result));
    if (transport_->was_cut_off() && !parser_.is_between_requests()) {
        return close_now("the TLS stream was cut off in the middle of a request");
    }
    end();
    if (is_lost()) close_now("");
}

// Parses one share of data at a time. The first requests' replies are sent while the next data is
// received. The data is still in the processor's cache when the device writes it.
void Session::parse() {
    share_bytes_ = 0;
    while (state_ == State::open && parse_one()) {
        if (share_bytes_ >= share_bytes_max) return sessions_.yields(*this);
    }
}

void Session::resume() {
    assert(!transport_->is_receiving() && !IntakeEntry::is_listed());
    parse();
    receive_behind_replies();
}

// Takes one step through the stream. False: more bytes or more room are needed.
bool Session::parse_one() {
    switch (parser_.next()) {
        case Parser::Event::need_bytes:
            return false;
        case Parser::Event::request:
            return take_in();
        case Parser::Event::payload_complete: {
            assert(incoming_ != nullptr);
            PendingRequest& request = *std::exchange(incoming_, nullptr);
            request.refused ? reply(request) : submit(request);
            return true;
        }
        case Parser::Event::disconnect:
            said_end_ = true;
            end();
            return false;
        case Parser::Event::lost:
            break;
    }
    close_now("wrong magic in a request");
    return false;
}

// False: no room; the parser keeps the request.
bool Session::take_in() {
    assert(incoming_ == nullptr);
    const Parser::Incoming& incoming = parser_.incoming();
    const uint64_t bytes = incoming.refusal == 0 ? memory_for(incoming.header) : 0;
    assert(bytes <= Arena::piece_bytes_max);
    // The other requests of the same receive wait behind this one.
    if (memory_.waits()) {
        held_back_ = std::max<hrtime_t>(sessions_.ring().now() - received_, 0);
    }
    PendingRequest* const request = memory_.acquire(static_cast<uint32_t>(bytes));
    if (request == nullptr) {
        sessions_.waits_for_room(*this);
        return false;
    }
    assert(request->held_bytes == bytes);
    request->session = this;
    request->iodone = iodone;
    request->client = client_;
    request->received = received_;
    request->held_back = held_back_;
    begin_request(*request, incoming.header, chunked_);
    if (incoming.refusal == 0) {
        probes::at(Probe::request_received, export_.device.instance(), *request, 0);
    }
    share_bytes_ += bytes;
    parser_.take(request->data);
    if (incoming.refusal != 0) {
        refuse(*request);
    } else if (incoming.payload_bytes > 0) {
        incoming_ = request;
    } else {
        submit(*request);
    }
    return true;
}

// Answers a refused request. A refused payload is read first: libnbd treats a reply before the end
// of its payload as an error.
void Session::refuse(PendingRequest& request) {
    const Parser::Incoming& incoming = parser_.incoming();
    assert(incoming.refusal != 0);
    assert(incoming_ == nullptr);
    request.error = incoming.refusal;
    request.refused = true;
    lane_.request_refused();
    if (parser_.is_in_payload()) {
        incoming_ = &request;
        return;
    }
    reply(request);
    if (incoming.ends_stream) end();
}

// ---- Through the device and back ----

// When strategy() returns, the request may already be done and its session already listed for
// attention.
void Session::submit(PendingRequest& request) {
    assert(!request.refused);
    assert(request.session == this);
    ++in_device_;
    assert(in_device_ <= memory_.requests_held());
    request.losses_seen = &losses_seen_;
    export_.device.strategy(request, lane_);
}

void Session::iodone(Buf& buf) {
    auto& request = static_cast<PendingRequest&>(buf);
    assert(request.session != nullptr);
    Session& session = *request.session;
    assert(session.in_device_ > 0);
    --session.in_device_;
    if (!request.disconnects) return session.reply(request);
    // A fault closes the connection instead of an answer: in serve(), outside of the device.
    session.disconnects_ = true;
    release(request, session.sessions_, session.lane_, session.memory_);
    session.sessions_.needs_attention(session);
}

void Session::reply(PendingRequest& request) {
    assert(request.session == this);
    sessions_.needs_attention(*this);
    if (state_ == State::dead) return release(request, sessions_, lane_, memory_);
    replies_.push(request);
}

// ---- Sending ----

void Session::serve() {
    if (disconnects_) return close_now("disconnected by a fault rule");
    if (lost_ && state_ != State::dead) return close_now("");
    if (transport_->is_sending() || state_ == State::dead) return;
    if (!replies_.empty()) {
        const std::span<iovec> pieces = replies_.next();
        return transport_->send(pieces, replies_.next_bytes());
    }
    const bool all_answered = in_device_ == 0 && !transport_->is_receiving();
    if (state_ == State::ending && all_answered) transport_->send_close();
}

void Session::sent(int32_t result) {
    assert(!transport_->is_sending());
    sessions_.needs_attention(*this);
    if (result < 0) {
        // A client that has announced its end may close the socket before its last replies.
        close_now(state_ == State::open ? transport_->reason(result) : "");
    }
    if (state_ == State::dead) {
        return replies_.drop_all(
            [this](PendingRequest& request) { release(request, sessions_, lane_, memory_); });
    }
    assert(result >= 0);
    const hrtime_t now = sessions_.ring().now();  // one reading for all replies of the send
    replies_.taken(static_cast<size_t>(result), [this, now](PendingRequest& request) {
        request.replied = now;
        release(request, sessions_, lane_, memory_);
    });
}

}  // namespace blkscope::nbd
