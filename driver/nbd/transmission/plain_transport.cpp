#include "driver/nbd/transmission/plain_transport.hpp"

#include <algorithm>
#include <cassert>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

// The longest time that a receive is held back. Long enough for a client that reads replies, short
// enough for a client that waits for us.
constexpr __kernel_timespec hold_time_max{.tv_sec = 0, .tv_nsec = 2'000'000};

}  // namespace

PlainTransport::PlainTransport(TransportOwner& owner, Ring& ring, int socket, Receives receives)
    : Transport(owner, ring, socket) {
    if (is_unix_ && receives == Receives::paced) pacing_.emplace();
}

void PlainTransport::receive_into_places() {
    receive_message_.msg_iov = places_.data();
    receive_message_.msg_iovlen = places_count_;
    start_receive(true);
}

// A receive into two places is never held back. The client has a payload to send and can do nothing
// else until the payload is received.
void PlainTransport::start_receive(bool may_hold) {
    assert(receiving_);
    if (receive_message_.msg_iovlen > 1) {
        return ring_.prepare(receive_operation_, [&](io_uring_sqe* entry) {
            io_uring_prep_recvmsg(entry, socket_, &receive_message_, 0);
        });
    }
    const auto prepare = [&](io_uring_sqe* entry) {
        io_uring_prep_recv(entry, socket_, places_[0].iov_base, places_[0].iov_len, 0);
    };
    if (may_hold && pacing_ && pacing_->hold()) {
        return ring_.prepare_when_writable(socket_, hold_time_max, receive_operation_, prepare);
    }
    ring_.prepare(receive_operation_, prepare);
}

void PlainTransport::received(int32_t result) {
    assert(receiving_);
    if (is_interrupted(result) && !stopped_ && planted("receive-forgotten")) return;
    if (is_interrupted(result) && !stopped_) return start_receive(false);
    receiving_ = false;
    if (is_interrupted(result)) result = 0;
    if (result > 0) bytes_moved_ += static_cast<uint32_t>(result);
    owner_.received(result);
}

void PlainTransport::send(std::span<iovec> pieces, size_t bytes) {
    assert(!sending_);
    assert(!pieces.empty());
    assert(bytes > 0);
    sending_ = true;
    send_message_.msg_iov = pieces.data();
    send_message_.msg_iovlen = pieces.size();
    if (pacing_) {
        if (pacing_->asks_what_is_left()) {
            const int64_t left = ring_.kernel().unsent_bytes(socket_);
            pacing_->found_left(static_cast<uint64_t>(std::max<int64_t>(left, 0)));
        }
        pacing_->sent(bytes);
    }
    start_send();
}

void PlainTransport::start_send() {
    assert(sending_);
    ring_.prepare(send_operation_, [&](io_uring_sqe* entry) {
        io_uring_prep_sendmsg(entry, socket_, &send_message_, MSG_NOSIGNAL | MSG_WAITALL);
    });
}

void PlainTransport::sent(int32_t result) {
    assert(sending_);
    const bool again = is_interrupted(result) && !planted("send-interrupted");
    if (again) return start_send();  // on a shut socket the repeated send fails at once
    sending_ = false;
    if (result > 0) bytes_moved_ += static_cast<uint32_t>(result);
    owner_.sent(result);
}

}  // namespace blkscope::nbd
