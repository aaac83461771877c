// Whether bytes are a blob: what must be true before anything follows an offset in them.
#pragma once
#include <cerrno>

#include "stats/layout.hpp"

namespace blkscope::stats {

/// Reads nothing outside the `size` bytes. Errors: EINVAL; EFTYPE for another ABI or byte order.
int validate(const Blob* blob, size_t size);

/// The same for a blob in memory of at least its cursz.
inline int validate(const Blob* blob) {
    return blob == nullptr ? EINVAL : validate(blob, blob->cursz);
}

}  // namespace blkscope::stats
