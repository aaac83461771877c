// Replies: what of a request that has ended goes on the wire, in the form that its client
// understands.
//
//     simple       header (16) │ data, of a read that went well
//     structured   chunk (20) │ payload, one or more for reads and block status; the rest simple
//     extended     chunk (32) │ payload, one or more for everything
//
// A read is one chunk of data, unless its backing has told of holes: then it is a chunk for each
// extent, in order, the last one marked as done. All of it is there when the first byte goes out,
// so no error comes after one.
//
// Units:     bytes.
// Ownership: heads are in the request, data stays where it is; both until the request is released.
// Threads:   one worker.
// Errors:    none.
// Source:    the NBD protocol document, "Simple reply message" to "Extended reply chunk message".
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "driver/nbd/protocol.hpp"
#include "driver/nbd/transmission/pending_request.hpp"

namespace blkscope::nbd {

/// The pieces that a reply has at most: a head and data for each extent of a read.
inline constexpr size_t reply_pieces_max = 2 * read_extents_max;

/// Extents that one block status answers at most: as many as a client's share of small memory
/// holds. It asks again for the rest.
inline constexpr size_t status_extents_max = 256;
inline constexpr size_t status_bytes = status_extents_max * sizeof(Extent);

/// Writes the reply's heads into the request, and a block status' descriptors over its extents.
void encode_reply(PendingRequest& request, ReplyForm form);

/// Lists an encoded reply's pieces, reply_pieces_max at most; gives their number.
size_t list_pieces(PendingRequest& request, ReplyForm form, iovec* to);

}  // namespace blkscope::nbd
