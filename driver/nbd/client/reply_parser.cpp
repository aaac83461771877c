#include "driver/nbd/client/reply_parser.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

constexpr size_t magic_bytes = 4;
constexpr uint64_t data_fields = 8;    // the offset
constexpr uint64_t hole_fields = 12;   // the offset, the length
constexpr uint64_t error_fields = 6;   // the error, the length of its text
constexpr uint64_t offset_field = 8;   // behind the text of an error with an offset
constexpr uint64_t status_fields = 4;  // the context
constexpr uint64_t extent_bytes = 8;
constexpr uint64_t extended_status_fields = 8;  // the context, the number of extents
constexpr uint64_t extended_extent_bytes = 16;

bool is_error(Chunk type) {
    return (static_cast<uint16_t>(type) >> 15) != 0;
}

}  // namespace

ReplyParser::ReplyParser(ReplyForm form, uint32_t allocation_id, OwedReplies& owed)
    : form_(form),
      allocation_id_(allocation_id),
      owed_(owed),
      rx_(std::make_unique<std::byte[]>(rx_bytes_max)) {}

// ---- Bytes ----

bool ReplyParser::is_direct() const {
    return state_ == State::data && data_ != nullptr && rx_bytes() == 0 &&
           left_ >= direct_bytes_min;
}

std::span<std::byte> ReplyParser::place() {
    if (is_direct()) return {data_, left_};
    if (rx_begin_ > 0) {
        std::memmove(rx_.get(), rx_.get() + rx_begin_, rx_bytes());
        rx_end_ -= rx_begin_;
        rx_begin_ = 0;
    }
    assert(rx_end_ < rx_bytes_max);  // a whole message of fields is shorter
    return {rx_.get() + rx_end_, rx_bytes_max - rx_end_};
}

void ReplyParser::received(size_t bytes) {
    assert(bytes > 0);
    if (is_direct()) {
        assert(bytes <= left_);
        data_ += bytes;
        left_ -= bytes;
        return;
    }
    assert(bytes <= rx_bytes_max - rx_end_);
    rx_end_ += bytes;
}

ReplyParser::Event ReplyParser::next() {
    for (;;) {
        Took took = Took::nothing;
        switch (state_) {
            case State::header:
                took = take_header();
                break;
            case State::fields:
                took = take_fields();
                break;
            case State::data:
                took = take_data();
                break;
            case State::extents:
                took = take_extents();
                break;
            case State::over:
                return Event::lost;
        }
        if (state_ == State::over) return Event::lost;
        if (took == Took::last) return Event::answered;
        if (took == Took::nothing) return Event::need_bytes;
    }
}

ReplyParser::Took ReplyParser::lose(std::string_view why) {
    why_ = why;
    state_ = State::over;
    return Took::nothing;
}

// ---- Headers ----

ReplyParser::Took ReplyParser::take_header() {
    const auto bytes = rx();
    if (bytes.size() < magic_bytes) return Took::nothing;
    const auto magic = load_be<uint32_t>(bytes, 0);
    uint32_t error = 0;
    if (magic == simple_reply_magic && form_ != ReplyForm::extended) {
        if (bytes.size() < simple_reply_bytes) return Took::nothing;
        error = load_be<uint32_t>(bytes, 4);
        head_ = {.flags = chunk_flag::done,
                 .type = Chunk::none,
                 .cookie = load_be<uint64_t>(bytes, 8),
                 .bytes = 0};
        rx_begin_ += simple_reply_bytes;
    } else if (magic == structured_reply_magic && form_ == ReplyForm::structured) {
        if (bytes.size() < structured_reply_bytes) return Took::nothing;
        head_.bytes = load_be<uint32_t>(bytes, 16);
        rx_begin_ += structured_reply_bytes;
    } else if (magic == extended_reply_magic && form_ == ReplyForm::extended) {
        if (bytes.size() < extended_reply_bytes) return Took::nothing;
        head_.bytes = load_be<uint64_t>(bytes, 24);
        rx_begin_ += extended_reply_bytes;
    } else {
        return lose("the server's answer has a wrong magic number");
    }
    const bool simple = magic == simple_reply_magic;
    if (!simple) {
        head_.flags = load_be<uint16_t>(bytes, 4);
        head_.type = Chunk{load_be<uint16_t>(bytes, 6)};
        head_.cookie = load_be<uint64_t>(bytes, 8);
    }
    reply_ = owed_.find(head_.cookie);
    if (reply_ == nullptr) return lose("the server answers a request that was not sent");
    return simple ? begin_reply(error) : begin_chunk();
}

ReplyParser::Took ReplyParser::begin_reply(uint32_t error) {
    const bool reads = reply_->request.type == Command::read;
    const bool asks_status = reply_->request.type == Command::block_status;
    // A failure needs no chunk, but that of a read.
    if (form_ != ReplyForm::simple && (reads || (asks_status && error == 0))) {
        return lose("the server answers without the chunks that were agreed");
    }
    reply_->error = error;
    if (reads && error == 0) {
        return begin_data(reply_->request.offset, reply_->request.length, true);
    }
    return end_chunk();
}

// Checks the length of the payload, so that the fields fit into the rx buffer.
ReplyParser::Took ReplyParser::begin_chunk() {
    const Command asked = reply_->request.type;
    fields_ = 0;
    state_ = State::fields;
    if (is_error(head_.type)) {
        if (head_.bytes < error_fields ||
            head_.bytes > error_fields + string_bytes_max + offset_field) {
            return lose("the server's error has an impossible length");
        }
        fields_ = head_.bytes;
        return Took::something;
    }
    switch (head_.type) {
        case Chunk::none:
            if (head_.bytes != 0 || (head_.flags & chunk_flag::done) == 0) {
                return lose("the server sends an empty chunk that is not the last one");
            }
            return end_chunk();
        case Chunk::offset_data:
            if (asked != Command::read || head_.bytes <= data_fields) break;
            fields_ = data_fields;
            return Took::something;
        case Chunk::offset_hole:
            if (asked != Command::read || head_.bytes != hole_fields) break;
            fields_ = hole_fields;
            return Took::something;
        case Chunk::block_status:
            if (asked != Command::block_status || form_ == ReplyForm::extended) break;
            if (head_.bytes < status_fields + extent_bytes) break;
            if ((head_.bytes - status_fields) % extent_bytes != 0) break;
            fields_ = status_fields;
            return Took::something;
        case Chunk::block_status_ext:
            if (asked != Command::block_status || form_ != ReplyForm::extended) break;
            if (head_.bytes < extended_status_fields + extended_extent_bytes) break;
            if ((head_.bytes - extended_status_fields) % extended_extent_bytes != 0) break;
            fields_ = extended_status_fields;
            return Took::something;
        default:
            return lose("the server sends a chunk of an unknown type");
    }
    return lose("the server sends a chunk that does not fit its request");
}

// ---- Payloads ----

ReplyParser::Took ReplyParser::take_fields() {
    const auto bytes = rx();
    if (bytes.size() < fields_) return Took::nothing;
    if (is_error(head_.type)) return take_error();
    rx_begin_ += fields_;
    if (head_.type == Chunk::offset_data) {
        return begin_data(load_be<uint64_t>(bytes, 0), head_.bytes - data_fields, true);
    }
    if (head_.type == Chunk::offset_hole) {
        const auto length = load_be<uint32_t>(bytes, 8);
        if (length == 0) return lose("the server sends a hole without a length");
        return begin_data(load_be<uint64_t>(bytes, 0), length, false);
    }
    if (load_be<uint32_t>(bytes, 0) != allocation_id_ || reply_->has_status) {
        return lose("the server sends a status that was not asked");
    }
    reply_->has_status = true;
    left_ = head_.bytes - fields_;
    state_ = State::extents;
    return Took::something;
}

ReplyParser::Took ReplyParser::take_error() {
    const auto bytes = rx().first(fields_);
    const auto error = load_be<uint32_t>(bytes, 0);
    const uint64_t text = load_be<uint16_t>(bytes, 4);
    rx_begin_ += fields_;
    if (error == 0) return lose("the server sends an error without a number");
    if (text > head_.bytes - error_fields) return lose("the server's error has a wrong length");
    if (++reply_->errors > errors_max) return lose("the server's errors have no end");
    if (reply_->error == 0) reply_->error = error;
    return end_chunk();
}

// Bytes of a read that arrive now, or that are a hole. Pieces may overlap and so leave a gap, and the
// memory may have another client's data of before. So the first piece clears it.
ReplyParser::Took ReplyParser::begin_data(uint64_t offset, uint64_t bytes, bool arrives) {
    const Request& request = reply_->request;
    const bool inside = offset >= request.offset && offset - request.offset <= request.length &&
                        bytes <= request.length - (offset - request.offset);
    if (!inside || bytes > request.length - reply_->covered) {
        return lose("the server sends data that was not asked");
    }
    if (reply_->covered == 0 && bytes < request.length && reply_->data != nullptr) {
        std::memset(reply_->data, 0, request.length);
    }
    reply_->covered += bytes;
    data_ = reply_->data != nullptr ? reply_->data + (offset - request.offset) : nullptr;
    if (!arrives) return take_hole(offset, bytes);
    left_ = bytes;
    state_ = State::data;
    return Took::something;
}

ReplyParser::Took ReplyParser::take_hole(uint64_t offset, uint64_t bytes) {
    if (data_ != nullptr && !planted("hole-keeps-data")) std::memset(data_, 0, bytes);
    if (reply_->hole_count < OwedReply::holes_max) {
        reply_->holes[reply_->hole_count++] = {offset, bytes};
    }
    return end_chunk();
}

ReplyParser::Took ReplyParser::take_data() {
    const size_t bytes = std::min<uint64_t>(rx_bytes(), left_);
    if (data_ != nullptr && bytes > 0) {
        std::memcpy(data_, rx_.get() + rx_begin_, bytes);
        data_ += bytes;
    }
    rx_begin_ += bytes;
    left_ -= bytes;
    return left_ > 0 ? Took::nothing : end_chunk();
}

ReplyParser::Took ReplyParser::take_extents() {
    const size_t each = form_ == ReplyForm::extended ? extended_extent_bytes : extent_bytes;
    while (left_ > 0) {
        if (rx_bytes() < each) return Took::nothing;
        if (!take_extent()) return lose("the server sends an impossible extent");
        rx_begin_ += each;
        left_ -= each;
    }
    return end_chunk();
}

// The last extent may be longer than the request. Extents behind it have nothing to describe. False
// for an impossible one.
bool ReplyParser::take_extent() {
    const bool extended = form_ == ReplyForm::extended;
    const uint64_t bytes = extended ? load_be<uint64_t>(rx(), 0) : load_be<uint32_t>(rx(), 0);
    const uint64_t flags = extended ? load_be<uint64_t>(rx(), 8) : load_be<uint32_t>(rx(), 4);
    if (bytes == 0) return false;
    const uint64_t wanted = std::min(bytes, reply_->request.length - reply_->covered);
    if (reply_->extents == nullptr || reply_->extents->full() || wanted == 0) return true;
    const Extent extent{.bytes = wanted,
                        .hole = (flags & allocation_flag::hole) != 0,
                        .zero = (flags & allocation_flag::zero) != 0};
    if (reply_->extents->append(extent)) reply_->covered += wanted;
    return true;
}

ReplyParser::Took ReplyParser::end_chunk() {
    state_ = State::header;
    if ((head_.flags & chunk_flag::done) == 0) return Took::something;
    const Request& request = reply_->request;
    if (reply_->error == 0 && request.type == Command::read && reply_->covered != request.length) {
        return lose("the server answers a read with too few bytes");
    }
    if (reply_->error == 0 && request.type == Command::block_status && !reply_->has_status) {
        return lose("the server answers a status without an extent");
    }
    return Took::last;
}

}  // namespace blkscope::nbd
