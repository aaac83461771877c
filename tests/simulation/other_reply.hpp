// OtherReply: the answer of another server to one request, as the messages that the protocol allows.
//
//     simple       one header, and a read's data
//     structured   chunks of data and holes in any order, errors with and without an offset, extents
//
// Units:     bytes.
// Ownership: a value.
// Errors:    none.
// Source:    the NBD protocol document, "Structured reply types".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "random.hpp"

namespace blkscope::simulation {

class OtherReply {
  public:
    struct Extent {
        uint64_t bytes = 0;
        uint32_t flags = 0;  // nbd::allocation_flag
    };

    OtherReply(nbd::ReplyForm form, const nbd::Request& request) : form_(form), request_(request) {}

    [[nodiscard]] nbd::ReplyForm form() const { return form_; }

    /// A whole answer. `data` follows a read's success.
    void simple(nbd::Error error, std::span<const std::byte> data);
    /// A read's data in one chunk or two.
    void halves(Random& random, std::span<const std::byte> data);
    /// A read's data in up to `pieces_max` chunks, in any order. Zeroes may be holes.
    void pieces(Random& random, std::span<const std::byte> data, uint64_t pieces_max);
    /// The failure of a read, from byte `at` on. Some of the data before and behind may come, too.
    void failed_read(Random& random, std::span<const std::byte> data, nbd::Error error,
                     uint64_t at);
    void extents(uint32_t context, const std::vector<Extent>& all);
    void error(nbd::Error error, bool last, const std::string& text = {});
    void error_at(nbd::Error error, uint64_t at, bool last, const std::string& text = {});
    void done() { put_chunk(nbd::Chunk::none, true, {}); }

    /// In order. Messages of other answers may come between them.
    [[nodiscard]] std::vector<std::vector<std::byte>>& messages() { return messages_; }

  private:
    void put_chunk(nbd::Chunk type, bool last, const std::vector<std::byte>& payload);
    void put_data(std::span<const std::byte> data, uint64_t first, uint64_t end, bool last);
    void put_piece(Random& random, std::span<const std::byte> data, uint64_t first, uint64_t end);

    const nbd::ReplyForm form_;
    const nbd::Request request_;
    std::vector<std::vector<std::byte>> messages_;
};

}  // namespace blkscope::simulation
