// Waits for what comes in a moment.
#pragma once

#include <chrono>
#include <thread>

namespace blkscope {

/// Waits until `condition` holds; false when it did not within `limit`.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

}  // namespace blkscope
