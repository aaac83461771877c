#include "kstat/provider/reader_connection.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <new>

namespace blkscope::kstat {
namespace {

// Enough for any request but a write; after a write the buffer shrinks to this size.
constexpr size_t usual_size = 4096;

}  // namespace

ReaderConnection::ReaderConnection(Socket socket, std::weak_ptr<Server> server, Session session,
                                   uid_t user)
    : socket_(std::move(socket)),
      not_inherited_(socket_.native_handle()),
      server_(std::move(server)),
      session_(session),
      user_(user),
      in_(usual_size) {}

void ReaderConnection::close() {
    boost::system::error_code ignored;
    not_inherited_.reset();  // first: the number may be reused at once
    socket_.close(ignored);
}

bool ReaderConnection::is_stuck(std::chrono::steady_clock::time_point now,
                                std::chrono::steady_clock::duration patience) const {
    return half_way_since_ && now - *half_way_since_ > patience;
}

void ReaderConnection::receive() {
    socket_.async_read_some(
        boost::asio::buffer(in_.data() + in_size_, in_.size() - in_size_),
        [self = shared_from_this()](const boost::system::error_code& error, size_t count) {
            if (error) return self->end();
            self->received(count);
        });
}

void ReaderConnection::received(size_t count) {
    in_size_ += count;
    if (answer_next()) return;
    // Here the reader is silent between two requests or slow within one. The bytes are bounded in
    // both cases; only a slow reader is at fault.
    if (in_size_ > 0 && !half_way_since_) half_way_since_ = std::chrono::steady_clock::now();
    receive();
}

// Answers the first whole request, or ends the connection. False: no request is whole yet, and the
// buffer has room to receive more. Without memory the connection ends, and the program goes on.
bool ReaderConnection::answer_next() try {
    wire::Bytes bytes(in_.data(), in_size_);
    const auto head = wire::take<wire::RequestHead>(bytes);
    if (!head) return false;
    if (head->length > request_length_max(session_)) {
        end();
        return true;
    }
    const size_t size = sizeof *head + head->length;
    if (in_size_ < size) {
        // The buffer grows with the received bytes, not with the announced length.
        if (in_size_ == in_.size()) in_.resize(std::min(size, 2 * in_.size()));
        return false;
    }
    out_ = answer(Chain::of_this_process(), session_, *head,
                  std::span(in_).subspan(sizeof *head, head->length));
    std::memmove(in_.data(), in_.data() + size, in_size_ - size);
    in_size_ -= size;
    send();
    return true;
} catch (const std::bad_alloc&) {
    end();
    return true;
}

void ReaderConnection::send() {
    half_way_since_ = std::chrono::steady_clock::now();
    const std::array parts{boost::asio::buffer(out_.head),
                           boost::asio::buffer(out_.data.data(), out_.data.size())};
    boost::asio::async_write(
        socket_, parts,
        [self = shared_from_this()](const boost::system::error_code& error, size_t) {
            if (error) return self->end();
            self->sent();
        });
}

void ReaderConnection::sent() {
    half_way_since_.reset();
    if (in_.size() > usual_size && in_size_ <= usual_size) {
        in_.resize(usual_size);
        in_.shrink_to_fit();
    }
    out_ = {};
    if (const auto server = server_.lock()) server->was_used(*this);
    received(0);
}

void ReaderConnection::end() {
    if (const auto server = server_.lock()) server->ended(*this);
    close();
}

}  // namespace blkscope::kstat
