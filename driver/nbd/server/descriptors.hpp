// Descriptors: the number that a server needs, and a spare one.
//
// Units:   a number of descriptors.
// Threads: any; a SpareDescriptor is used by one thread at a time.
// Errors:  none. An unknown number of open descriptors counts as 0.
// Source:  accept(2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/descriptor.hpp"

namespace blkscope::nbd {

/// Descriptors of a worker: its ring, and the event that wakes it.
inline constexpr size_t worker_descriptors = 2;

/// The descriptors that this process has open now.
[[nodiscard]] size_t open_descriptors();

/// A warning for the user if `open` + `to_come` descriptors, and a reserve for readers of the
/// statistics, exceed `limit`. Empty otherwise.
[[nodiscard]] std::string descriptor_shortage(uint64_t limit, size_t open, size_t to_come);

/// A descriptor that is kept open, so that closing it makes room for another one.
class SpareDescriptor {
  public:
    SpareDescriptor() { restore(); }

    /// Closes the spare, so that the process can open another descriptor. False: there was no
    /// spare.
    bool close();
    /// Opens the spare again if possible.
    void restore();
    [[nodiscard]] bool is_open() const { return spare_.is_open(); }

  private:
    Descriptor spare_;
};

}  // namespace blkscope::nbd
