// PendingRequest: one NBD request from its header to the last byte of its reply, and the pool it is
// from.
//
// It is the device's Buf and what the wire adds to it, so nothing is looked up or allocated on the
// way back.
//
// Ownership: the pool owns all but each session's reserve; a session has one from acquire() to
//            release().
// Threads:   one worker.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "blockdev/queue/buf.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

class Session;

/// Extents that one read tells apart; what lies behind them is sent as data.
inline constexpr size_t read_extents_max = 8;

/// The longest head of a chunk: a hole's, extended.
inline constexpr size_t reply_head_bytes_max = extended_reply_bytes + 12;

struct PendingRequest : Buf {
    uint64_t cookie = 0;
    Session* session = nullptr;
    PendingRequest* next_reply = nullptr;
    uint32_t held_bytes = 0;  // of memory, at `data`; 0 for none
    bool of_reserve = false;  // the session's own; the pool has no part in it
    uint64_t wire_bytes = 0;  // of the whole reply, once it is listed
    Command command = Command::read;
    bool refused = false;  // it has not been with the device

    // The reply: the heads of its chunks one behind the other, of `head_bytes` together. Behind a
    // single one goes the payload; where there are several, `chunks` of them, a read's data goes
    // behind each that is not a hole's.
    uint32_t chunks = 0;
    uint32_t head_bytes = 0;
    uint64_t payload_bytes = 0;  // at `data`
    std::array<std::byte, reply_head_bytes_max * read_extents_max> heads{};

    std::array<Extent, read_extents_max> holes{};  // of a read whose client can be told
};

using ReplyQueue = Fifo<PendingRequest, &PendingRequest::next_reply>;

/// Makes `request`, whose memory is there, what the header asks for. `chunked`: the client takes
/// replies in chunks, and with them holes.
void begin_request(PendingRequest& request, const Request& header, bool chunked);

/// What the data of a request takes of memory.
[[nodiscard]] uint64_t memory_for(const Request& header);

class RequestPool {
  public:
    explicit RequestPool(size_t count) : all_(count) {
        free_.reserve(count);
        for (size_t i = count; i-- > 0;) free_.push_back(&all_[i]);
    }

    /// nullptr when all are in use.
    PendingRequest* acquire() {
        if (free_.empty()) return nullptr;
        PendingRequest* request = free_.back();
        free_.pop_back();
        return request;
    }

    void release(PendingRequest& request) {
        assert(!request.of_reserve && free_.size() < all_.size());
        free_.push_back(&request);
    }

  private:
    std::vector<PendingRequest> all_;
    std::vector<PendingRequest*> free_;
};

}  // namespace blkscope::nbd
