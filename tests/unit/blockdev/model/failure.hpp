// The line of an error, for tests of parsers.
#pragma once

#include <stdexcept>
#include <string>

namespace blkscope::model {

/// The message of the std::invalid_argument that `parse` throws; "no error" if there is none.
template <class Parse>
std::string failure_of(Parse parse) {
    try {
        static_cast<void>(parse());
    } catch (const std::invalid_argument& failure) {
        return failure.what();
    }
    return "no error";
}

}  // namespace blkscope::model
