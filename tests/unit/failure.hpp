// The line of an error, for tests of what refuses something.
#pragma once

#include <stdexcept>
#include <string>

namespace blkscope {

/// The message of the Error that `action` throws; "none" if it throws none.
template <class Error = std::invalid_argument, class Action>
std::string failure_of(Action action) {
    try {
        static_cast<void>(action());
    } catch (const Error& failure) {
        return failure.what();
    }
    return "none";
}

}  // namespace blkscope
