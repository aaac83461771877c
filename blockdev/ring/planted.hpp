// Planted defects: mistakes that the simulator's own build of these sources makes on purpose. A
// test switches on one at a time and sees that the simulator finds it (tests/simulation/planted).
//
// In every other build planted() is constant false, and the compiler removes the mistakes.
//
// Threads: any; the simulator has one.
// Errors:  none.
#pragma once

#ifdef BLKSCOPE_PLANTED
#include <cstring>
#endif

namespace blkscope {

#ifdef BLKSCOPE_PLANTED
/// The name of the defect that is switched on; the simulator defines it.
extern const char* planted_defect;

/// Whether the defect `name` is switched on.
inline bool planted(const char* name) {
    return std::strcmp(planted_defect, name) == 0;
}
#else
constexpr bool planted(const char*) {
    return false;
}
#endif

}  // namespace blkscope
