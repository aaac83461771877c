#include "driver/nbd/transmission/reply.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

constexpr uint64_t offset_bytes = sizeof(uint64_t);
constexpr uint64_t hole_bytes = sizeof(uint64_t) + sizeof(uint32_t);
constexpr uint64_t error_bytes = sizeof(uint32_t) + sizeof(uint16_t);  // without a text
constexpr uint64_t context_bytes = sizeof(uint32_t);

// A compact descriptor's length has 32 bits. The limit is the largest multiple of every block size.
constexpr uint64_t compact_extent_bytes_max = 0xffff0000;
constexpr size_t compact_descriptor_bytes = 2 * sizeof(uint32_t);
constexpr size_t extended_descriptor_bytes = 2 * sizeof(uint64_t);
static_assert(sizeof(Extent) == extended_descriptor_bytes, "descriptors are written over extents");

// Writes a big-endian number; returns the place after it.
template <std::unsigned_integral T>
std::byte* put(std::byte* to, T value) {
    store_be<T>(std::span<std::byte, sizeof(T)>(to, sizeof(T)), value);
    return to + sizeof(T);
}

// The heads of one request's reply. Written bytes may alias anything, so functions that write
// several numbers keep the place in a local variable.
class Heads {
  public:
    Heads(PendingRequest& request, ReplyForm form)
        : request_(request), form_(form), at_(request.heads.data()) {
        request.chunks = 1;
        request.payload_bytes = 0;
    }
    ~Heads() {
        request_.head_bytes = static_cast<uint32_t>(at_ - request_.heads.data());
        assert(request_.head_bytes <= request_.heads.size());
    }
    Heads& operator=(Heads&&) = delete;

    void simple(Error error) {
        const std::span<std::byte, simple_reply_bytes> to(at_, simple_reply_bytes);
        encode_simple_reply(to, error, request_.cookie);
        at_ = to.data() + to.size();
    }

    void chunk(Chunk type, uint64_t bytes, bool last = true) {
        const ChunkHead head{.flags = last ? chunk_flag::done : uint16_t{0},
                             .type = type,
                             .cookie = request_.cookie,
                             .bytes = bytes};
        if (form_ == ReplyForm::extended) {
            const std::span<std::byte, extended_reply_bytes> to(at_, extended_reply_bytes);
            encode_extended_chunk(to, head, request_.offset);
            at_ = to.data() + to.size();
        } else {
            const std::span<std::byte, structured_reply_bytes> to(at_, structured_reply_bytes);
            encode_structured_chunk(to, head);
            at_ = to.data() + to.size();
        }
    }

    void data(uint64_t at, uint64_t bytes, bool last) {
        chunk(Chunk::offset_data, offset_bytes + bytes, last);
        at_ = put(at_, at);
    }

    void hole(uint64_t at, uint64_t bytes, bool last) {
        assert(bytes <= UINT32_MAX);
        chunk(Chunk::offset_hole, hole_bytes, last);
        at_ = put(put(at_, at), static_cast<uint32_t>(bytes));
    }

    // A read that failed in the device reports the offset. Data before the offset is not sent.
    void error(Error error) {
        const bool on_its_way = request_.command == Command::read && !request_.refused;
        chunk(on_its_way ? Chunk::error_offset : Chunk::error,
              error_bytes + (on_its_way ? offset_bytes : 0));
        at_ = put(put(at_, static_cast<uint32_t>(error)), uint16_t{0});
        if (!on_its_way) return;
        at_ = put(at_, request_.offset + (planted("error-at-begin") ? 0 : request_.moved()));
    }

    void status(uint32_t count) {
        if (form_ == ReplyForm::extended) {
            chunk(Chunk::block_status_ext,
                  context_bytes + sizeof count + count * extended_descriptor_bytes);
            at_ = put(put(at_, base_allocation_id), count);
        } else {
            chunk(Chunk::block_status, context_bytes + count * compact_descriptor_bytes);
            at_ = put(at_, base_allocation_id);
        }
    }

  private:
    PendingRequest& request_;
    ReplyForm form_;
    std::byte* at_;
};

bool chunked(Command command, ReplyForm form) {
    switch (form) {
        case ReplyForm::simple:
            return false;
        case ReplyForm::structured:
            return command == Command::read || command == Command::block_status;
        case ReplyForm::extended:
            return true;
    }
    return false;
}

uint32_t flags_of(const Extent& extent) {
    return (extent.hole ? allocation_flag::hole : 0) | (extent.zero ? allocation_flag::zero : 0);
}

// A descriptor is no longer than its extent, so descriptors can overwrite the extents from the
// first on. Returns their number. The first shortened descriptor is the last.
uint32_t write_compact(std::span<const Extent> extents, std::byte* to) {
    uint32_t count = 0;
    for (const Extent& at : extents) {
        const Extent extent = at;
        const uint64_t bytes = std::min(extent.bytes, compact_extent_bytes_max);
        to = put(put(to, static_cast<uint32_t>(bytes)), flags_of(extent));
        ++count;
        if (extent.bytes > compact_extent_bytes_max) break;
    }
    return count;
}

uint32_t write_extended(std::span<const Extent> extents, std::byte* to) {
    for (const Extent& at : extents) {
        const Extent extent = at;
        to = put(put(to, extent.bytes), uint64_t{flags_of(extent)});
    }
    return static_cast<uint32_t>(extents.size());
}

void encode_status(PendingRequest& request, ReplyForm form, Heads& heads) {
    const auto extents = request.extents.items();
    assert(extents.size() <= status_extents_max);
    assert(extents.empty() || request.data != nullptr);
    const bool extended = form == ReplyForm::extended;
    const uint32_t count =
        extended ? write_extended(extents, request.data) : write_compact(extents, request.data);
    heads.status(count);
    request.payload_bytes =
        count * (extended ? extended_descriptor_bytes : compact_descriptor_bytes);
}

void encode_read(PendingRequest& request, Heads& heads) {
    const auto extents = request.extents.items();
    const bool plain = extents.empty() || (extents.size() == 1 && !extents.front().hole);
    if (plain) {
        request.payload_bytes = request.bcount;
        return heads.data(request.offset, request.bcount, true);
    }
    assert(extents.size() <= read_extents_max);
    request.chunks = static_cast<uint32_t>(extents.size());
    uint64_t at = request.offset;
    for (const Extent& extent : extents) {
        const bool last = &extent == &extents.back();
        extent.hole ? heads.hole(at, extent.bytes, last) : heads.data(at, extent.bytes, last);
        at += extent.bytes;
    }
    assert(at == request.offset + request.bcount);
}

size_t head_bytes_of(const Extent& extent, ReplyForm form) {
    const size_t chunk =
        form == ReplyForm::extended ? extended_reply_bytes : structured_reply_bytes;
    return chunk + (extent.hole ? hole_bytes : offset_bytes);
}

}  // namespace

void encode_reply(PendingRequest& request, ReplyForm form) {
    Heads heads(request, form);
    const Error error =
        wire_error(planted("quota-as-error") && request.error == EDQUOT ? EIO : request.error);
    if (!chunked(request.command, form)) {
        heads.simple(error);
        if (request.command == Command::read && error == Error::none) {
            request.payload_bytes = request.bcount;
        }
        return;
    }
    if (error != Error::none) return heads.error(error);
    if (request.command == Command::read) return encode_read(request, heads);
    if (request.command == Command::block_status) return encode_status(request, form, heads);
    heads.chunk(Chunk::none, 0);
}

size_t list_pieces(PendingRequest& request, ReplyForm form, iovec* to) {
    size_t count = 0;
    if (request.chunks == 1) {
        to[count++] = {request.heads.data(), request.head_bytes};
        if (request.payload_bytes > 0) to[count++] = {request.data, request.payload_bytes};
        return count;
    }
    std::byte* head = request.heads.data();
    std::byte* data = request.data;
    for (const Extent& extent : request.extents.items()) {
        const size_t bytes = head_bytes_of(extent, form);
        to[count++] = {head, bytes};
        if (!extent.hole) to[count++] = {data, extent.bytes};
        head += bytes;
        data += extent.bytes;
    }
    assert(head == request.heads.data() + request.head_bytes);
    assert(data == request.data + request.bcount);
    assert(count <= reply_pieces_max);
    return count;
}

}  // namespace blkscope::nbd
