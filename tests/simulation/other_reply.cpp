#include "other_reply.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <set>
#include <utility>

namespace blkscope::simulation {
namespace {

using nbd::Chunk;
using nbd::Error;
using nbd::ReplyForm;

using Bytes = std::vector<std::byte>;

void append(Bytes& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

template <std::unsigned_integral T>
void append_be(Bytes& to, T number) {
    std::array<std::byte, sizeof(T)> bytes{};
    nbd::store_be<T>(bytes, number);
    append(to, bytes);
}

bool all_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{0}; });
}

Bytes error_payload(Error error, const std::string& text) {
    Bytes payload;
    append_be(payload, static_cast<uint32_t>(error));
    append_be(payload, static_cast<uint16_t>(text.size()));
    append(payload, std::as_bytes(std::span(text)));
    return payload;
}

}  // namespace

void OtherReply::simple(Error error, std::span<const std::byte> data) {
    Bytes message(nbd::simple_reply_bytes);
    nbd::encode_simple_reply(std::span(message).first<nbd::simple_reply_bytes>(), error,
                             request_.cookie);
    append(message, data);
    messages_.push_back(std::move(message));
}

void OtherReply::put_chunk(Chunk type, bool last, const Bytes& payload) {
    const nbd::ChunkHead head{last ? nbd::chunk_flag::done : uint16_t{0}, type, request_.cookie,
                              payload.size()};
    Bytes message;
    if (form_ == ReplyForm::extended) {
        message.resize(nbd::extended_reply_bytes);
        nbd::encode_extended_chunk(std::span(message).first<nbd::extended_reply_bytes>(), head,
                                   request_.offset);
    } else {
        message.resize(nbd::structured_reply_bytes);
        nbd::encode_structured_chunk(std::span(message).first<nbd::structured_reply_bytes>(), head);
    }
    append(message, payload);
    messages_.push_back(std::move(message));
}

void OtherReply::put_data(std::span<const std::byte> data, uint64_t first, uint64_t end,
                          bool last) {
    assert(first < end && end <= data.size());
    Bytes payload;
    append_be(payload, request_.offset + first);
    append(payload, data.subspan(first, end - first));
    put_chunk(Chunk::offset_data, last, payload);
}

void OtherReply::put_piece(Random& random, std::span<const std::byte> data, uint64_t first,
                           uint64_t end) {
    const bool hole = all_zero(data.subspan(first, end - first)) && !random.one_in(4);
    if (!hole) return put_data(data, first, end, false);
    Bytes payload;
    append_be(payload, request_.offset + first);
    append_be(payload, static_cast<uint32_t>(end - first));
    put_chunk(Chunk::offset_hole, false, payload);
}

void OtherReply::halves(Random& random, std::span<const std::byte> data) {
    const uint64_t middle = random.between(1, data.size());
    const bool separate_end = random.one_in(2);
    if (middle < data.size()) put_data(data, middle, data.size(), false);
    put_data(data, 0, middle, !separate_end);
    if (separate_end) done();
}

void OtherReply::pieces(Random& random, std::span<const std::byte> data, uint64_t pieces_max) {
    std::set<uint64_t> cuts{0, data.size()};
    const bool in_blocks = random.one_in(2);
    for (uint64_t i = random.below(pieces_max); i > 0; --i) {
        const uint64_t at = random.below(data.size());
        cuts.insert(in_blocks ? at / 512 * 512 : at);
    }
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
        ranges.emplace_back(*cut, *std::next(cut));
    }
    for (size_t i = ranges.size(); i > 1; --i) std::swap(ranges[i - 1], ranges[random.below(i)]);
    for (const auto& [first, end] : ranges) put_piece(random, data, first, end);
    done();
}

// The error may be told more than once, with and without its place.
void OtherReply::failed_read(Random& random, std::span<const std::byte> data, Error error,
                             uint64_t at) {
    const uint64_t good = at - request_.offset;
    if (good > 0 && random.one_in(2)) put_data(data, 0, random.between(1, good), false);
    const std::string text(random.one_in(3) ? random.below(200) : 0, 'x');
    const bool alone = random.one_in(2);
    if (random.one_in(3)) {
        this->error(error, alone, text);
    } else {
        error_at(error, at, alone, text);
    }
    if (alone) return;
    if (random.one_in(2)) error_at(error, at, false);
    done();
}

void OtherReply::error(Error error, bool last, const std::string& text) {
    put_chunk(Chunk::error, last, error_payload(error, text));
}

void OtherReply::error_at(Error error, uint64_t at, bool last, const std::string& text) {
    Bytes payload = error_payload(error, text);
    append_be(payload, at);
    put_chunk(Chunk::error_offset, last, payload);
}

void OtherReply::extents(uint32_t context, const std::vector<Extent>& all) {
    assert(!all.empty());
    const bool extended = form_ == ReplyForm::extended;
    Bytes payload;
    append_be(payload, context);
    if (extended) append_be(payload, static_cast<uint32_t>(all.size()));
    for (const Extent& each : all) {
        if (extended) {
            append_be(payload, each.bytes);
            append_be(payload, uint64_t{each.flags});
        } else {
            append_be(payload, static_cast<uint32_t>(each.bytes));
            append_be(payload, each.flags);
        }
    }
    put_chunk(extended ? Chunk::block_status_ext : Chunk::block_status, true, payload);
}

}  // namespace blkscope::simulation
