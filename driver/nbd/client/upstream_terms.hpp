// Upstream terms: what a backing can offer of another server's export.
//
// Units:     bytes.
// Ownership: values.
// Threads:   any; pure functions.
// Errors:    a line of text, empty for none.
// Source:    the NBD protocol document, "Transmission flags", "Block size constraints".
#pragma once

#include <string>

#include "blockdev/backing/backing.hpp"
#include "driver/nbd/client/remote_export.hpp"

namespace blkscope::nbd {

/// Why the export cannot be a backing.
[[nodiscard]] std::string unusable(const RemoteExport& remote);

/// The abilities of a usable export.
[[nodiscard]] Abilities abilities_of(const RemoteExport& remote);

/// In what the export of a new connection falls short of the one that was offered to clients. Another
/// image of equal size cannot be told, because NBD has no identity.
[[nodiscard]] std::string shortcoming(const RemoteExport& offered, const RemoteExport& now);

}  // namespace blkscope::nbd
