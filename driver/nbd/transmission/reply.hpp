// Encodes the reply to a finished request, in the form that its client has negotiated.
//
//     simple       header (16) │ data of a successful read
//     structured   chunk (20) │ payload, one or more for reads and block status; the rest simple
//     extended     chunk (32) │ payload, one or more for everything
//
// A read is one chunk of data unless its backing has reported holes. With holes there is a chunk
// for each extent, in order, the last one marked as done. All data is ready before the first byte
// is sent, so no error follows data.
//
// Units:     bytes.
// Ownership: heads are in the request, data stays in place; both valid until the request is
//            released.
// Threads:   the worker's.
// Errors:    none.
// Source:    the NBD protocol document, "Simple reply message" to "Extended reply chunk message".
#pragma once

#include <sys/uio.h>

#include <cstddef>

#include "driver/nbd/protocol.hpp"
#include "driver/nbd/transmission/pending_request.hpp"

namespace blkscope::nbd {

/// Limit of pieces per reply: a head and data for each extent of a read.
inline constexpr size_t reply_pieces_max = 2 * read_extents_max;

/// Limit of extents in one block status: as many as the smallest memory slot holds. The client asks
/// again for the rest.
inline constexpr size_t status_extents_max = 256;
inline constexpr size_t status_bytes = status_extents_max * sizeof(Extent);

/// Writes the reply's heads into the request. Writes the descriptors of a block status over its
/// extents.
void encode_reply(PendingRequest& request, ReplyForm form);

/// Lists the pieces of an encoded reply, at most reply_pieces_max; returns their number.
size_t list_pieces(PendingRequest& request, ReplyForm form, iovec* to);

}  // namespace blkscope::nbd
