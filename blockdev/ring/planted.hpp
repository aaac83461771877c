// Planted defects: places where the simulator's own build of these sources does something wrong, one
// of them at a time, so that a test can see that the simulator finds it (tests/simulation/planted).
//
// In every other build planted() is constant false, and nothing of it is compiled.
#pragma once

#ifdef BLKSCOPE_PLANTED
#include <cstring>
#endif

namespace blkscope {

#ifdef BLKSCOPE_PLANTED
/// The name of the defect that is to be there; the simulator's.
extern const char* planted_defect;

inline bool planted(const char* name) {
    return std::strcmp(planted_defect, name) == 0;
}
#else
constexpr bool planted(const char*) {
    return false;
}
#endif

}  // namespace blkscope
