// Descriptors: how many this process may have, what a server needs of them, and one kept for need.
//
// Units:     a number of descriptors.
// Threads:   any; a SpareDescriptor one at a time.
// Errors:    none: what cannot be found out counts as no limit, or as none open.
// Source:    getrlimit(2), accept(2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace blkscope::nbd {

/// A worker's ring and the event that wakes it.
inline constexpr size_t worker_descriptors = 2;

/// Raises the soft limit of this process (often 1024, for programs that call select()) to the hard
/// one. Programs that it starts inherit that.
void raise_descriptor_limit();

/// The soft limit.
[[nodiscard]] uint64_t descriptor_limit();

/// Those that this process has now.
[[nodiscard]] size_t open_descriptors();

/// A line for the user when `to_come` more than are `open` now, and some for those who read the
/// statistics, are above `limit`. Empty when they are not.
[[nodiscard]] std::string descriptor_shortage(uint64_t limit, size_t open, size_t to_come);

/// A descriptor that is open for nothing but to be closed when another one is needed.
class SpareDescriptor {
  public:
    SpareDescriptor() { restore(); }
    ~SpareDescriptor() { give_up(); }
    SpareDescriptor(const SpareDescriptor&) = delete;
    SpareDescriptor& operator=(const SpareDescriptor&) = delete;

    /// Closes it, so that the next descriptor can be had. False if that does not help: there is
    /// none, and none could be had.
    bool give_up();
    /// Opens it again, if that is possible.
    void restore();
    [[nodiscard]] bool held() const { return descriptor_ >= 0; }

  private:
    int descriptor_ = -1;
};

}  // namespace blkscope::nbd
