// Open upstream: an export of another NBD server as a backing, by its URI.
//
// Units:     as Backing.
// Ownership: as open_backing().
// Threads:   any; the call blocks until the server has answered.
// Errors:    std::invalid_argument for a URI that cannot be used. std::runtime_error if the server or
//            the export is not there, or cannot be a backing. Each has the URI.
#pragma once

#include <memory>
#include <string>

#include "blockdev/backing/backing.hpp"

namespace blkscope::nbd {

/// For the table of open_backing().
[[nodiscard]] std::unique_ptr<Backing> open_upstream(const std::string& spec,
                                                     const BackingOptions& options);

}  // namespace blkscope::nbd
