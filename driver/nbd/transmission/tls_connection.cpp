// The part of a Connection that is there with TLS only.
//
//     socket ── recv ──▶ session ── read ──▶ payload, rx buffer ─▶ received(), as without TLS
//     socket ◀── send ── session ◀── write ── the list that gather() made
//
// What could be decrypted completes through the ring, as if the kernel had received it: so parsing,
// stalls and shares are the same, and one client's backlog does not go before the others'. A reply
// whose bytes are in the session's buffer stays held until they are sent, so what a client can make
// us hold is counted as without TLS.

#include <cerrno>
#include <span>
#include <system_error>

#include "driver/nbd/transmission/connection.hpp"
#include "driver/nbd/transmission/worker.hpp"

namespace blkscope::nbd {

// ---- Receiving ----

// Decrypts what is there to where a receive would have put it; `room` is that of the rx buffer.
void Connection::receive_decrypted(size_t room) {
    int32_t result = 0;
    bool to_the_end = true;
    if (payload_ != nullptr) {
        const auto missing = static_cast<size_t>(payload_->bcount - payload_bytes_);
        result = tls_->read({payload_->data + payload_bytes_, missing});
        to_the_end = result == static_cast<int32_t>(missing);
    }
    if (to_the_end) {
        const int32_t behind = tls_->read({rx_.get() + rx_end_, room});
        if (behind > 0) result += behind;
        if (behind < 0 && result == 0) result = behind;
    }
    if (!tls_->output().empty()) worker_.changed(*this);
    if (result == -EAGAIN) return receive_encrypted();
    if (result < 0) return fail_tls();
    receiving_.under_way = true;
    worker_.ring().completed(receiving_, result);
}

void Connection::receive_encrypted() {
    const std::span<std::byte> room = tls_->input();
    receiving_.under_way = true;
    worker_.ring().prepare(receiving_encrypted_, [&](io_uring_sqe* entry) {
        io_uring_prep_recv(entry, socket_, room.data(), room.size(), 0);
    });
}

void Connection::encrypted_received(int32_t result) {
    receiving_.under_way = false;
    if (state_ != State::open || (result < 0 && result != -EINTR && result != -EAGAIN)) {
        return received(result);
    }
    if (result == 0) return cut_off();
    if (result > 0) {
        seconds_without_progress_ = 0;
        tls_->received(static_cast<size_t>(result));
    }
    receive();
}

// The socket has ended and TLS has not: the client is gone, or someone cuts its stream off. Between
// two requests that loses nothing, and some clients never say good-bye.
void Connection::cut_off() {
    const bool between_requests = payload_ == nullptr && refused_ == nullptr && rx_bytes() == 0;
    if (between_requests && !tls_->in_record()) return end();
    kill("its TLS stream was cut off in the middle of a request");
}

// The client is told why in TLS's words, if its socket takes them at once.
void Connection::fail_tls() {
    const std::span<const std::byte> alert = tls_->output();
    if (!sending_.under_way) {
        kernel().send_now(socket_, alert);
    }
    kill("TLS: " + tls_->failure());
}

// ---- Sending ----

// Puts on the ring what of the replies fits the session's buffer, and at the end TLS's farewell.
void Connection::send_encrypted() {
    if (state_ == State::dead) return;
    if (on_the_wire_.empty() && !ready_.empty()) list_replies();
    if (send_bytes_ > 0 && !encrypt_replies()) return;
    if (all_said()) tls_->close();
    const std::span<const std::byte> bytes = tls_->output();
    if (bytes.empty()) return;
    sending_.under_way = true;
    worker_.ring().prepare(sending_encrypted_, [&](io_uring_sqe* entry) {
        io_uring_prep_send(entry, socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_WAITALL);
    });
}

bool Connection::encrypt_replies() {
    const int32_t bytes = tls_->write({send_message_.msg_iov, send_message_.msg_iovlen});
    if (bytes < 0) {
        fail_tls();
        release_sent();
        return false;
    }
    send_bytes_ -= static_cast<size_t>(bytes);
    skip_sent(static_cast<size_t>(bytes));
    return true;
}

void Connection::encrypted_sent(int32_t result) {
    sending_.under_way = false;
    worker_.changed(*this);
    if (result < 0 && result != -EINTR && result != -EAGAIN) {
        kill(state_ == State::open ? std::generic_category().message(-result) : "");
    }
    if (result > 0) {
        seconds_without_progress_ = 0;
        tls_->sent(static_cast<size_t>(result));
    }
    const bool more = send_bytes_ > 0 || !tls_->output().empty();
    if (state_ != State::dead && more) return send_encrypted();
    release_sent();
}

bool Connection::all_said() const {
    return state_ == State::ending && in_device_ == 0 && !receiving_.under_way && ready_.empty() &&
           send_bytes_ == 0;
}

bool Connection::tls_has_more_to_send() const {
    return tls_ != nullptr && state_ != State::dead && !(tls_->closed() && tls_->output().empty());
}

}  // namespace blkscope::nbd
