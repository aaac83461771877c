// Failures in the run directory, which concern a path that the user never gave.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>

namespace blkscope {

/// The result of `action`. Its std::system_error gets the advice to set KSTAT_DIR.
template <class Action>
auto in_run_directory(Action action) try {
    return action();
} catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) throw;  // threads, not the path
    throw std::runtime_error(
        fmt::format("{}; set KSTAT_DIR to a directory that you may write", error.what()));
}

}  // namespace blkscope
