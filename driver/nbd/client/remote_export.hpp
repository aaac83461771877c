// RemoteExport: an export of another server, as its handshake describes it.
//
// Units:     bytes.
// Ownership: a value. Threads: any.
// Errors:    none.
// Source:    the NBD protocol document, "Handshake phase".
#pragma once

#include <cstdint>

#include "driver/nbd/handshake/exports.hpp"
#include "driver/nbd/handshake/terms.hpp"

namespace blkscope::nbd {

struct RemoteExport {
    uint64_t size_bytes = 0;
    uint16_t transmission_flags = 0;
    BlockSize block_size;  // the protocol's own if the server names none
    Terms terms;
    uint32_t allocation_id = 0;  // of base:allocation in chunks, if the terms have it

    [[nodiscard]] bool offers(uint16_t transmission_flag) const {
        return (transmission_flags & transmission_flag::has_flags) != 0 &&
               (transmission_flags & transmission_flag) != 0;
    }
};

}  // namespace blkscope::nbd
