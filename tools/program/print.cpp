#include "tools/program/print.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/throw_errno.hpp"

namespace blkscope::program {

void print(std::string_view text, const char* doing) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<size_t>(written));
        } else if (errno == EPIPE) {
            throw OutputClosed(errno, std::generic_category(), doing);
        } else if (errno != EINTR) {
            throw_errno(doing);
        }
    }
}

void complain(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace blkscope::program
