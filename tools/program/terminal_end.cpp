#include "tools/program/terminal_end.hpp"

#include <fcntl.h>

#include <cerrno>
#include <csignal>

#include "base/descriptor.hpp"

namespace blkscope::program {

bool has_terminal() {
    const Descriptor terminal(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC));
    return terminal.is_open() || errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

bool ignores_hangups() {
    struct sigaction now {};
    return sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace blkscope::program
