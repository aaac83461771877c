// OtherTerms: what another server offers, what it refuses, and how it answers, in one life.
//
//     seed ─▶ draw() ─┬─▶ offence()   a request that no client should send on these terms
//                     ├─▶ refusal()   the error that the server has for a request
//                     └─▶ told()      the error that our client must get, by name and to the number
//
// The server refuses the same ranges for a whole life. So the error of each request is known, however it is
// split: the first refused byte decides.
//
// Units:     bytes.
// Ownership: a value.
// Errors:    none.
// Source:    the NBD protocol document, "Transmission phase", "Block size constraints".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/nbd/client/remote_export.hpp"
#include "driver/nbd/protocol.hpp"
#include "random.hpp"

namespace blkscope::simulation {

struct OtherTerms {
    /// A range in which a command fails.
    struct Refused {
        uint64_t first_byte = 0;
        uint64_t end_byte = 0;
        nbd::Command command = nbd::Command::read;
        nbd::Error error = nbd::Error::eio;
    };
    struct Refusal {
        nbd::Error error = nbd::Error::none;
        uint64_t at = 0;  // the first refused byte
    };

    uint16_t flags = nbd::transmission_flag::has_flags | nbd::transmission_flag::send_flush |
                     nbd::transmission_flag::send_fua | nbd::transmission_flag::send_trim |
                     nbd::transmission_flag::send_write_zeroes;
    nbd::BlockSize block_size{.minimum = 1, .preferred = 4096, .maximum = 1 << 20};
    bool allocation = false;  // block status is offered
    std::vector<Refused> refused;
    nbd::Error flush_error = nbd::Error::none;  // of each flush; none: flushes succeed
    bool fragments = false;                     // answers come in many chunks and many sends
    uint64_t wrong_cookie_one_in = 0;           // requests; 0: all cookies are right

    /// Terms as any server may have them. `several`: the client has several connections.
    static OtherTerms draw(Random& random, uint64_t export_bytes, bool several);

    [[nodiscard]] bool offers(uint16_t flag) const { return (flags & flag) != 0; }
    [[nodiscard]] bool offers(nbd::Command command) const;

    /// What is wrong with a request of a client that knows the terms; empty if nothing is.
    [[nodiscard]] std::string offence(const nbd::Request& request, uint64_t export_bytes,
                                      bool extended) const;
    [[nodiscard]] Refusal refusal(const nbd::Request& request) const;

    /// The largest piece of a read or write.
    [[nodiscard]] uint32_t piece_bytes_max() const {
        return block_size.maximum - block_size.maximum % block_size.minimum;
    }
    /// The error that a request of our client must have if no connection is lost.
    [[nodiscard]] nbd::Error told(const nbd::Request& request) const;
    /// Where the failed piece begins, for a request that a refused byte lets fail.
    [[nodiscard]] uint64_t failed_piece(const nbd::Request& request) const;
    /// Whether our server does the request itself, because the other one does not offer it.
    [[nodiscard]] bool ends_here(const nbd::Request& request) const;
    [[nodiscard]] std::string describe() const;

  private:
    void draw_flags(Random& random);
    void draw_sizes(Random& random);
    void draw_refused(Random& random, uint64_t export_bytes);
};

/// Whether the request to another server is what the terms make of one of our clients' requests: the whole, or a
/// piece of a read or write, with the same flags.
[[nodiscard]] bool is_piece_of(const OtherTerms& terms, const nbd::Request& piece,
                               const nbd::Request& asked);

[[nodiscard]] bool changes(nbd::Command command);
[[nodiscard]] bool moves_data(nbd::Command command);
[[nodiscard]] std::string text_of(const nbd::Request& request);

}  // namespace blkscope::simulation
