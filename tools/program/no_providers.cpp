#include "tools/program/no_providers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/descriptor.hpp"
#include "base/run_directory.hpp"
#include "tools/program/print.hpp"

namespace blkscope::program {
namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

// The socket of a program that was killed is still there, and refuses. Any other failure says nothing.
bool listens(int directory, const std::string& name) {
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = socket_address(directory, name);
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    return ::connect(socket.get(), at, sizeof address) == 0 ||
           (errno != ECONNREFUSED && errno != ENOENT);
}

bool any_listens_in(const std::string& path) {
    const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
    if (directory == nullptr) return errno != ENOENT && errno != ENOTDIR;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this directory
    while (const dirent* const entry = ::readdir(directory.get())) {
        const std::string name = entry->d_name;
        if (pid_of_socket(name) && listens(::dirfd(directory.get()), name)) return true;
    }
    return false;
}

}  // namespace

std::string no_devices_text() {
    return "no devices in " + run_directory() + "; start a server with 'blkscope serve'";
}

bool has_own_run_directory() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets a variable
    const char* const named = ::secure_getenv("KSTAT_DIR");
    return named != nullptr && *named != '\0';
}

bool any_provider_listens() {
    return std::ranges::any_of(reader_directories(), any_listens_in);
}

void complain_of_no_providers(std::string_view program, bool misses) {
    if ((!misses && !has_own_run_directory()) || any_provider_listens()) return;
    complain(std::string(program) + ": " + no_devices_text() +
             (has_own_run_directory() ? ", or correct KSTAT_DIR\n" : "\n"));
}

}  // namespace blkscope::program
