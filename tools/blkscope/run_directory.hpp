// What fails in the run directory is not the user's path but a directory that nobody named.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>

namespace blkscope {

/// What `action` gives. Its std::system_error gets the advice that helps.
template <class Action>
auto in_run_directory(Action action) try {
    return action();
} catch (const std::system_error& error) {
    throw std::runtime_error(
        fmt::format("{}; set KSTAT_DIR to a directory that you may write", error.what()));
}

}  // namespace blkscope
