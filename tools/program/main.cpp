#include "tools/program/main.hpp"

#include <fmt/format.h>

#include "base/descriptor_limit.hpp"

namespace blkscope::program {

std::string shortage_text(std::string_view program) {
    return fmt::format(
        "{}: {} descriptors are too few; statistics of some providers are left out; see ulimit "
        "-Hn\n",
        program, descriptor_limit());
}

}  // namespace blkscope::program
