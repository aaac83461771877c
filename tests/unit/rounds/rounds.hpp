// How often a test against a model repeats itself with other random input.
#pragma once

#include <cstdlib>

namespace blkscope {

/// As many rounds as the environment variable BLKSCOPE_ROUNDS says; `usual` without it. The first
/// rounds are the same each time, because each test has a fixed seed.
inline int rounds(int usual) {
    const char* const wanted = std::getenv("BLKSCOPE_ROUNDS");
    return wanted == nullptr ? usual : std::atoi(wanted);
}

/// The same for a test that only computes, in one thread. Under a sanitizer it is many times slower
/// and sees as much in a fifth of the rounds.
inline int computed_rounds(int usual) {
    return rounds(BLKSCOPE_SANITIZED ? usual / 5 : usual);
}

}  // namespace blkscope
