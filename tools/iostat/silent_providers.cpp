#include "tools/iostat/silent_providers.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "base/run_directory.hpp"
#include "tools/program/kstats.hpp"

namespace blkscope::iostat {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds patience{300};

// A connection whose end is told at once. A provider that runs then closes it.
struct Knock {
    Descriptor socket;
    bool is_full;  // the backlog is
};

// No socket: no process listens, or the socket is for other users.
Knock knock(const std::filesystem::path& path) {
    const Descriptor directory(
        ::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!directory.is_open() || !socket.is_open()) return {Descriptor(), false};
    const sockaddr_un address = socket_address(directory.get(), path.filename().string());
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return {Descriptor(), errno == EAGAIN};
    }
    ::shutdown(socket.get(), SHUT_WR);
    return {std::move(socket), false};
}

bool is_closed(const Descriptor& socket, Clock::time_point deadline) {
    pollfd poller{socket.get(), POLLIN, 0};
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
        const int wait_ms = static_cast<int>(std::max(left, milliseconds(0)).count());
        const int ready = ::poll(&poller, 1, wait_ms);
        if (ready >= 0 || errno != EINTR) return ready > 0;
    }
}

// The providers with kstats in the chain, and whether the first kstat of each came in time.
std::map<int, bool> listed(kstat_ctl_t* chain) {
    std::map<int, bool> providers;
    for (kstat_t* ksp = chain == nullptr ? nullptr : chain->kc_chain; ksp != nullptr;
         ksp = ksp->ks_next) {
        const int pid = program::provider_of(*ksp);
        if (pid <= 0 || providers.contains(pid)) continue;
        providers[pid] = kstat_read(chain, ksp, nullptr) != -1 || errno != ETIMEDOUT;
    }
    return providers;
}

}  // namespace

std::map<int, std::string> provider_sockets() {
    std::map<int, std::string> sockets;
    std::error_code none;
    for (const std::string& path : reader_directories()) {
        for (const auto& entry : std::filesystem::directory_iterator(path, none)) {
            if (const auto pid = pid_of_socket(entry.path().filename().string())) {
                sockets.try_emplace(*pid, entry.path().string());
            }
        }
    }
    return sockets;
}

std::vector<std::string> silent_providers(kstat_ctl_t* chain, const std::set<int>& late) {
    std::vector<std::string> silent;
    std::map<std::string, Descriptor> knocks;
    const std::map<int, bool> in_time = listed(chain);
    for (const auto& [pid, path] : provider_sockets()) {
        const auto known = in_time.find(pid);
        if (late.contains(pid) || (known != in_time.end() && !known->second)) {
            silent.push_back(path);
        } else if (known == in_time.end()) {
            Knock one = knock(path);
            if (one.is_full) silent.push_back(path);
            if (one.socket.is_open()) knocks.emplace(path, std::move(one.socket));
        }
    }
    const Clock::time_point deadline = Clock::now() + patience;
    for (const auto& [path, socket] : knocks) {
        if (!is_closed(socket, deadline)) silent.push_back(path);
    }
    return silent;
}

}  // namespace blkscope::iostat
