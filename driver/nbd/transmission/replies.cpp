#include "driver/nbd/transmission/replies.hpp"

#include <algorithm>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/transmission/session_limits.hpp"

namespace blkscope::nbd {
namespace {

// Room for all replies that a client can have at once, except many reads with holes.
constexpr size_t pieces_max = size_t{2} * requests_held_max + reply_pieces_max;

}  // namespace

Replies::Replies(ReplyForm form)
    : form_(form), pieces_(std::make_unique_for_overwrite<iovec[]>(pieces_max)) {}

void Replies::push(PendingRequest& request) {
    encode_reply(request, form_);
    assert(request.head_bytes > 0);
    ready_.push(request);
}

// Lists the ready replies as far as the list has room. The rest waits for the next list.
void Replies::gather() {
    assert(first_ == end_);
    assert(sent_bytes_ == 0);
    assert(on_the_wire_.empty());
    first_ = 0;
    size_t count = 0;
    while (!ready_.empty() && count + reply_pieces_max <= pieces_max) {
        PendingRequest& request = ready_.pop();
        const size_t begin = count;
        count += list_pieces(request, form_, &pieces_[count]);
        request.wire_bytes = 0;
        for (size_t i = begin; i < count; ++i) request.wire_bytes += pieces_[i].iov_len;
        on_the_wire_.push(request);
    }
    assert(count > 0);
    assert(count <= pieces_max);
    end_ = count;
}

std::span<iovec> Replies::next() {
    assert(!empty());
    assert(withheld_bytes_ == 0);
    if (first_ == end_) gather();
    window_bytes_ = 0;
    window_end_ = first_;
    while (window_end_ < end_ && window_bytes_ < send_bytes_max) {
        window_bytes_ += pieces_[window_end_++].iov_len;
    }
    if (window_bytes_ > send_bytes_max) cut_window();
    assert(window_end_ > first_);
    assert(window_bytes_ > 0);
    return {&pieces_[first_], window_end_ - first_};
}

// Cuts the window's last piece to the limit of a send. A send needs its pieces in one array, so the
// piece is cut in place. join_window() gives it its rest back when the send has ended.
void Replies::cut_window() {
    assert(withheld_bytes_ == 0);
    iovec& last = pieces_[window_end_ - 1];
    withheld_bytes_ = window_bytes_ - send_bytes_max;
    assert(withheld_bytes_ < last.iov_len);
    last.iov_len -= withheld_bytes_;
    window_bytes_ = send_bytes_max;
}

void Replies::join_window() {
    if (planted("withheld-lost")) withheld_bytes_ = 0;
    if (withheld_bytes_ > 0) pieces_[window_end_ - 1].iov_len += withheld_bytes_;
    withheld_bytes_ = window_bytes_ = 0;
}

// Records that the first `bytes` of the window were sent.
void Replies::skip(size_t bytes) {
    assert(bytes <= window_bytes_);
    sent_bytes_ += bytes;
    if (planted("reply-twice") && bytes < window_bytes_) bytes = 0;
    join_window();
    while (bytes > 0) {
        assert(first_ < window_end_);
        iovec& piece = pieces_[first_];
        const size_t part = std::min(bytes, piece.iov_len);
        piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
        piece.iov_len -= part;
        bytes -= part;
        if (piece.iov_len == 0) ++first_;
    }
    assert(first_ <= end_);
}

}  // namespace blkscope::nbd
