// PendingRequest: one NBD request from its header to the last byte of its reply, and the pool it is
// from.
//
// It is the device's Buf and what the wire adds to it, so nothing is looked up or allocated on the
// way back.
//
// Ownership: the pool owns all; a connection has one from acquire() to release().
// Threads:   one worker.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "blockdev/buf.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

class Connection;

struct PendingRequest : Buf {
    uint64_t cookie = 0;
    Connection* connection = nullptr;
    PendingRequest* next_reply = nullptr;
    uint32_t held_bytes = 0;  // of the arena, at `data`; 0 for none
    std::array<std::byte, simple_reply_bytes> reply{};

    /// What follows the reply's header: the data of a read that went well.
    [[nodiscard]] uint64_t reply_data_bytes() const {
        return op == Op::read && error == 0 ? bcount : 0;
    }
};

using ReplyQueue = Fifo<PendingRequest, &PendingRequest::next_reply>;

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

    void release(PendingRequest& request) { free_.push_back(&request); }

  private:
    std::vector<PendingRequest> all_;
    std::vector<PendingRequest*> free_;
};

}  // namespace blkscope::nbd
