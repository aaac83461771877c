#include "base/run_directory.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace blkscope {

std::string run_directory() {
    // secure_getenv: the caller of a set-user-id reader must not choose the directory it reads.
    if (const char* chosen = secure_getenv("KSTAT_DIR"); chosen != nullptr && *chosen != '\0') {
        return chosen;
    }
    const char* runtime = secure_getenv("XDG_RUNTIME_DIR");
    if (geteuid() == 0 || runtime == nullptr || *runtime == '\0') return "/run/kstat";
    return std::string(runtime) + "/kstat";
}

std::string socket_name(int pid) {
    return std::to_string(pid) + ".sock";
}

std::optional<int> pid_of_socket(std::string_view name) {
    int pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || pid <= 0 || name != socket_name(pid)) return std::nullopt;
    return pid;
}

sockaddr_un socket_address(int directory, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
    std::copy_n(path.c_str(), std::min(path.size(), sizeof address.sun_path - 1), address.sun_path);
    return address;
}

}  // namespace blkscope
