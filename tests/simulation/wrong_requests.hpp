// Wrong requests: what the protocol forbids, and the error that its document names for each; and rare requests that it
// allows.
//
// The errors come from the document's tables. The order of its checks decides where a request is wrong twice: too much
// data, a read-only export, the range, the flags.
//
// Units:  bytes.
// Source: the NBD protocol document, "Request types", "Error values" and "Metadata querying".
#pragma once

#include <cstdint>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "random.hpp"

namespace blkscope::simulation {

/// What the client has negotiated.
struct Terms {
    nbd::ReplyForm form = nbd::ReplyForm::simple;
    uint64_t bytes = 0;           // of the export
    uint64_t data_bytes_max = 0;  // of a request that is not meant to be too large
    uint32_t block_bytes = 1;     // offsets and lengths are multiples of it
    bool read_only = false;
    uint32_t context_id = 0;  // of base:allocation
};

struct WrongRequest {
    nbd::Request request;
    nbd::Error error = nbd::Error::einval;
    std::vector<std::byte> payload;
    bool in_device = false;    // the device refuses it: the error of a read has an offset
    bool ends_stream = false;  // the payload does not come, and the server closes after the answer
};

WrongRequest draw_wrong(Random& random, const Terms& terms);

}  // namespace blkscope::simulation
