// The requests of a trace as requests to an NBD export, and whether the export can have them.
//
// Units:     bytes.
// Ownership: borrows for the call.
// Threads:   any; pure functions.
// Errors:    one line of text, empty for none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/nbd/client/remote_export.hpp"
#include "driver/nbd/protocol.hpp"
#include "trace/request.hpp"

namespace blkscope {

/// The same operation, place and flags; the cookie is 0.
[[nodiscard]] nbd::Request remote_request(const trace::Request& request);

/// How many requests change the data of their device, and of which operations, as "12 writes and
/// 3 trims".
[[nodiscard]] std::string changes_of(const std::vector<trace::Request>& requests);

/// Why the export cannot have all requests: what it lacks, how many requests need it, and the
/// first of these.
[[nodiscard]] std::string why_not(const std::vector<trace::Request>& requests,
                                  const nbd::RemoteExport& remote);

/// The data of writes: bytes of a seed. The same seed, length and number give the same bytes.
class ReplayData {
  public:
    ReplayData(uint64_t seed, uint64_t bytes_max);

    /// At least `bytes_max` bytes, for the request with this number.
    [[nodiscard]] const std::byte* of(uint64_t number) const;

  private:
    const uint64_t seed_;
    std::vector<std::byte> bytes_;
};

}  // namespace blkscope
