#include "tools/blkscope/default_socket.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/run_directory.hpp"
#include "driver/nbd/server/listening_socket.hpp"
#include "tools/program/options.hpp"

namespace blkscope {
namespace {

constexpr std::string_view prefix = "blkscope-";
constexpr std::string_view nbd_suffix = ".nbd";

// The process id in the file's name; 0 for another name.
pid_t pid_in_nbd_name(std::string_view file) {
    if (!file.starts_with(prefix) || !file.ends_with(nbd_suffix)) return 0;
    file.remove_prefix(prefix.size());
    file.remove_suffix(nbd_suffix.size());
    return std::max(program::decimal<pid_t>(file).value_or(0), 0);
}

}  // namespace

std::string default_socket_path() {
    return fmt::format("{}/{}{}{}", run_directory(), prefix, getpid(), nbd_suffix);
}

// Avoids a connection to a running server, which would count it as a client. A process that does
// not exist here may exist in another pid namespace. Therefore remove_stale_socket() decides.
void remove_dead_servers_sockets() {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(run_directory(), none)) {
        const pid_t pid = pid_in_nbd_name(entry.path().filename().string());
        if (pid == 0 || kill(pid, 0) == 0 || errno != ESRCH) continue;
        nbd::remove_stale_socket(entry.path().string());
    }
}

}  // namespace blkscope
