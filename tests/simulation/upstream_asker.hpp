// UpstreamAsker: a requester of a device in front of another server, with all that such a device can be asked.
//
//     choose() ─▶ widen(): caches, block status, NO_HOLE, FAST_ZERO, parts of blocks ─▶ asked() ─▶ the device
//
// Units:     bytes.
// Ownership: an asker owns its data and its lists.
// Threads:   a single one.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "asker.hpp"
#include "driver/nbd/protocol.hpp"
#include "other_terms.hpp"
#include "random.hpp"

namespace blkscope::simulation {

struct UpstreamAsker : Asker {
    static constexpr size_t extents_max = 6;
    std::array<Extent, extents_max> extent_room;

    /// Changes the chosen request into one that the terms' device may be asked, and sometimes into one that it
    /// must refuse.
    void widen(Random& random, const OtherTerms& terms, uint64_t device_bytes);
    /// The request, as a client of the device makes it.
    [[nodiscard]] nbd::Request asked() const;
    /// Checks the lists of a request that has succeeded. Returns the error, or an empty text.
    [[nodiscard]] std::string check_lists(const OtherTerms& terms, const Oracle& oracle,
                                          hrtime_t now) const;

  private:
    [[nodiscard]] std::string check_status(const OtherTerms& terms, const Oracle& oracle,
                                           hrtime_t now) const;
    [[nodiscard]] std::string check_holes() const;
};

}  // namespace blkscope::simulation
