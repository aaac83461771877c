#include "base/run_directory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/decimal.hpp"

namespace blkscope {
namespace {

// secure_getenv: the caller of a set-user-id reader must not choose the directory it reads. Empty if
// the variable is not set.
std::string of_environment(const char* name) {
    const char* const text = secure_getenv(name);
    return text == nullptr ? "" : text;
}

// A logged-in user's directory has the user's number as its name.
std::vector<std::string> directories_of_users() {
    std::vector<std::string> paths;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/run/user", none)) {
        const std::string user = entry.path().filename().string();
        const bool is_number = user.find_first_not_of("0123456789") == std::string::npos;
        if (is_number) paths.push_back(entry.path().string() + "/kstat");
    }
    std::ranges::sort(paths);
    return paths;
}

}  // namespace

std::string run_directory() {
    if (std::string chosen = of_environment("KSTAT_DIR"); !chosen.empty()) return chosen;
    const std::string runtime = of_environment("XDG_RUNTIME_DIR");
    if (geteuid() == 0 || runtime.empty()) return machine_run_directory;
    return runtime + "/kstat";
}

std::vector<std::string> reader_directories() {
    std::vector<std::string> paths{run_directory()};
    if (!of_environment("KSTAT_DIR").empty()) return paths;
    const auto add = [&](const std::string& path) {
        if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
    };
    add(machine_run_directory);
    if (const std::string runtime = of_environment("XDG_RUNTIME_DIR"); !runtime.empty()) {
        add(runtime + "/kstat");
    }
    if (geteuid() == 0) std::ranges::for_each(directories_of_users(), add);
    return paths;
}

std::string socket_name(int pid) {
    return std::to_string(pid) + ".sock";
}

std::optional<int> pid_of_socket(std::string_view name) {
    const auto pid = decimal(name.substr(0, name.find('.')));
    return pid && *pid > 0 && name == socket_name(*pid) ? pid : std::nullopt;
}

sockaddr_un socket_address(int directory, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
    std::copy_n(path.c_str(), std::min(path.size(), sizeof address.sun_path - 1), address.sun_path);
    return address;
}

}  // namespace blkscope
