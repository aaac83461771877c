#include "tools/blkscope/activation.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tools/program/options.hpp"

namespace blkscope {
namespace {

long parse(const std::string& variable, std::string_view text, long largest) {
    const auto number = program::decimal<long>(text);
    if (!number || *number < 1 || *number > largest) {
        throw std::invalid_argument(variable + "=" + std::string(text) + ": not 1 to " +
                                    std::to_string(largest) +
                                    "; unset it, or see what starts this program");
    }
    return *number;
}

}  // namespace

unsigned count_activated_sockets(const ActivationVariables& variables, pid_t self) {
    constexpr long pid_largest = 1L << 22;  // PID_MAX_LIMIT
    if (variables.pid == nullptr || variables.fds == nullptr) return 0;
    // The variables are those of another process, inherited by mistake. The rest is then ignored.
    if (parse("LISTEN_PID", variables.pid, pid_largest) != self) return 0;
    const long count = parse("LISTEN_FDS", variables.fds, activated_sockets_max);
    if (variables.names != nullptr) {
        const std::string_view names = variables.names;
        if (std::count(names.begin(), names.end(), ':') + 1 != count) {
            throw std::invalid_argument("LISTEN_FDNAMES=" + std::string(names) + ": not one for " +
                                        "each of the " + std::to_string(count) +
                                        " in LISTEN_FDS; see what starts this program");
        }
    }
    return static_cast<unsigned>(count);
}

std::vector<int> take_activated_sockets() {
    // NOLINTBEGIN(concurrency-mt-unsafe): the program has one thread yet
    const ActivationVariables variables{std::getenv("LISTEN_PID"), std::getenv("LISTEN_FDS"),
                                        std::getenv("LISTEN_FDNAMES")};
    const unsigned count = count_activated_sockets(variables, getpid());
    for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(name);
    // NOLINTEND(concurrency-mt-unsafe)
    std::vector<int> sockets;
    for (unsigned i = 0; i < count; ++i) {
        const int socket = first_activated_socket + static_cast<int>(i);
        if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0) {
            throw std::invalid_argument("LISTEN_FDS=" + std::to_string(count) + ": descriptor " +
                                        std::to_string(socket) +
                                        " is not open; see what starts this program");
        }
        sockets.push_back(socket);
    }
    return sockets;
}

}  // namespace blkscope
