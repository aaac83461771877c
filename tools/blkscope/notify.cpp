#include "tools/blkscope/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace blkscope {

void notify_manager(std::string_view state) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment
    const char* path = std::getenv("NOTIFY_SOCKET");
    if (path == nullptr) return;
    sockaddr_un address{};
    const size_t length = std::strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) return;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return;
    ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
    ::close(socket);
}

}  // namespace blkscope
