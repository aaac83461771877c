// PendingRequest: one NBD request from its header to the last byte of its reply; and RequestPool.
//
// The request is the device's Buf with the protocol's fields added. So iodone finds everything in
// it and allocates nothing.
//
// Ownership: the pool owns all requests but each session's reserve. A session has a request from
//            acquire() to release().
// Threads:   the worker's.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "blockdev/queue/buf.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

class Session;

/// Extents of one read that are sent apart; the rest is sent as data.
inline constexpr size_t read_extents_max = 8;

/// The longest head of a chunk: an extended hole.
inline constexpr size_t reply_head_bytes_max = extended_reply_bytes + 12;

struct PendingRequest : Buf {
    Session* session = nullptr;  // nullptr: no session has the request
    PendingRequest* next_reply = nullptr;
    uint32_t held_bytes = 0;  // of memory, at `data`; 0 for none
    bool of_reserve = false;  // belongs to one session's Reserve, not to the pool
    uint64_t wire_bytes = 0;  // of the whole reply, once it is listed
    Command command = Command::read;
    bool refused = false;  // never reaches the device

    // The reply: `chunks` heads in a row, together `head_bytes` long. A single head is followed by
    // the payload. With several heads, each data head is followed by its part of a read's data.
    uint32_t chunks = 0;
    uint32_t head_bytes = 0;
    uint64_t payload_bytes = 0;  // at `data`
    std::array<std::byte, reply_head_bytes_max * read_extents_max> heads{};

    std::array<Extent, read_extents_max> holes{};  // of a read whose client accepts holes

    [[nodiscard]] bool wanted() const override;
    [[nodiscard]] bool orphaned() override;
};

using ReplyQueue = Fifo<PendingRequest, &PendingRequest::next_reply>;

/// The device's operation for a command; nothing for a command that no device executes.
[[nodiscard]] std::optional<Buf::Op> op_of(Command command);

/// Fills `request` from the header; its memory is already there. `chunked`: the client accepts
/// replies in chunks, and so holes. A request without an operation is marked as refused.
void begin_request(PendingRequest& request, const Request& header, bool chunked);

/// The memory that a request's data needs.
[[nodiscard]] uint64_t memory_for(const Request& header);

/// The memory for all requests is allocated at the start. A request is constructed when it is first
/// needed, and stays. So a worker without clients uses no page of that memory.
class RequestPool {
  public:
    explicit RequestPool(size_t count) : count_(count) {
        assert(count > 0);
        all_.reserve(count);
        free_.reserve(count);
    }
    ~RequestPool() { assert(idle()); }
    RequestPool& operator=(RequestPool&&) = delete;

    /// No session has a request.
    [[nodiscard]] bool idle() const { return free_.size() == all_.size(); }

    /// Returns nullptr when all are in use.
    PendingRequest* acquire() {
        if (free_.empty()) return construct_another();
        PendingRequest* request = free_.back();
        free_.pop_back();
        return request;
    }

    void release(PendingRequest& request) {
        assert(!request.of_reserve && free_.size() < all_.size());
        assert(request.session == nullptr);
        free_.push_back(&request);
    }

    /// Calls `call` for each request that a session has.
    template <class Call>
    void for_each_lent(Call call) {
        for (PendingRequest& request : all_) {
            if (request.session != nullptr) call(request);
        }
    }

  private:
    PendingRequest* construct_another() {
        assert(all_.capacity() >= count_);  // the others stay where they are
        return all_.size() < count_ ? &all_.emplace_back() : nullptr;
    }

    const size_t count_;
    std::vector<PendingRequest> all_;  // constructed so far
    std::vector<PendingRequest*> free_;
};

}  // namespace blkscope::nbd
