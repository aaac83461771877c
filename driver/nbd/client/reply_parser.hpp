// ReplyParser: turns a server's bytes into answers to the requests that it owes an answer.
//
//     received(n) ─▶ [ a read's memory | rx buffer ] ─▶ next() ─▶ answered()
//                            ▲                            │
//                            └───────── place() ◀─────────┘
//
//     header ── fields ── data ──▶ header        a chunk of a read
//       │ └──── fields ──────────▶ header        a hole, an error
//       │ └──── extents ─────────▶ header        the extents of a block status
//       └────── anything else ───▶ over
//
// The parser has no socket, clock or ring. Nothing allocates after construction. All three forms of
// replies are supported. Chunks of different requests may alternate.
//
// Each byte of the server is foreign. A request's chunks never have more bytes than were asked, nor
// lie beside the request. The number of its errors is limited. So each answer comes to an end.
//
// Units:     bytes.
// Ownership: owns the rx buffer; borrows each owed reply from find() to Event::answered.
// Threads:   a single one.
// Errors:    Event::lost after the first wrong byte; why() is one line. No answer follows.
// Source:    the NBD protocol document, "Transmission phase", "Structured reply types".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "blockdev/queue/extent.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

/// A request that was sent, and what came of it.
struct OwedReply {
    /// Holes of one read that are noted. Further ones are only zeroes in the data.
    static constexpr size_t holes_max = 4;
    struct Hole {
        uint64_t offset = 0;
        uint64_t bytes = 0;
    };

    Request request;
    std::byte* data = nullptr;      // request.length bytes for a read; nullptr: the data is dropped
    ExtentList* extents = nullptr;  // of a block status; nullptr: they are dropped
    // The answer, as far as it is there.
    uint32_t error = 0;    // the number on the wire, an Error; 0 for success
    uint64_t covered = 0;  // bytes of a read that have arrived, or of listed extents
    uint32_t errors = 0;   // chunks with an error
    bool has_status = false;
    std::array<Hole, holes_max> holes{};  // of a read, in the order of arrival
    uint32_t hole_count = 0;
};

/// The requests that a server owes an answer, by their cookies.
class OwedReplies {
  public:
    /// Nothing if no such request is owed an answer.
    virtual OwedReply* find(uint64_t cookie) = 0;

  protected:
    OwedReplies& operator=(OwedReplies&&) = delete;
    ~OwedReplies() = default;
};

class ReplyParser {
  public:
    static constexpr size_t rx_bytes_max = size_t{128} << 10;
    /// A request may have so many chunks with an error.
    static constexpr uint32_t errors_max = 64;
    /// Data of at least this size is received directly into the request's memory.
    static constexpr size_t direct_bytes_min = 4096;

    enum class Event : uint8_t {
        need_bytes,  // receive into place(), then call received()
        answered,    // see answered(); the request is no longer owed an answer
        lost,        // the server's bytes make no sense
    };

    /// `allocation_id` is the context of block status, if the terms have one.
    ReplyParser(ReplyForm form, uint32_t allocation_id, OwedReplies& owed);
    ReplyParser& operator=(ReplyParser&&) = delete;

    /// Where the next bytes go; not empty. Valid until received() or next().
    [[nodiscard]] std::span<std::byte> place();
    /// Records that `bytes` were received into the place.
    void received(size_t bytes);

    Event next();
    /// The request of the last Event::answered.
    [[nodiscard]] OwedReply& answered() const { return *reply_; }
    [[nodiscard]] std::string_view why() const { return why_; }

    /// True if a stream that ends here cuts no answer short.
    [[nodiscard]] bool is_between_replies() const {
        return state_ == State::header && rx_begin_ == rx_end_;
    }

  private:
    enum class State : uint8_t { header, fields, data, extents, over };
    /// The result of one step.
    enum class Took : uint8_t { nothing, something, last };

    Took take_header();
    Took begin_reply(uint32_t error);
    Took begin_chunk();
    Took take_fields();
    Took take_error();
    Took begin_data(uint64_t offset, uint64_t bytes, bool arrives);
    Took take_data();
    Took take_hole(uint64_t offset, uint64_t bytes);
    Took take_extents();
    bool take_extent();
    Took end_chunk();
    Took lose(std::string_view why);
    [[nodiscard]] bool is_direct() const;
    [[nodiscard]] size_t rx_bytes() const { return rx_end_ - rx_begin_; }
    [[nodiscard]] std::span<const std::byte> rx() const {
        return {rx_.get() + rx_begin_, rx_bytes()};
    }

    const ReplyForm form_;
    const uint32_t allocation_id_;
    OwedReplies& owed_;
    State state_ = State::header;
    std::string_view why_;

    std::unique_ptr<std::byte[]> rx_;
    size_t rx_begin_ = 0;
    size_t rx_end_ = 0;

    ChunkHead head_{};            // of the current chunk
    OwedReply* reply_ = nullptr;  // the request of the current chunk
    size_t fields_ = 0;           // bytes before the data, or all of the payload
    std::byte* data_ = nullptr;   // where the data goes; nullptr: it is dropped
    uint64_t left_ = 0;           // bytes of the data or of the extents
};

}  // namespace blkscope::nbd
