#include "tools/program/left_out.hpp"

#include <cstdlib>
#include <mutex>
#include <utility>

#include "kstat/reader/left_out.hpp"

namespace blkscope::program {

namespace {

struct Sockets {
    std::mutex mutex;
    std::set<std::string> left_out;
    std::set<std::string> told;  // by a line
};

// Reached by whichever thread reads, up to the end of the process.
Sockets& sockets() {
    static auto& all = *new Sockets;
    return all;
}

}  // namespace

void warn_of_silent_providers(std::string_view program) {
    setenv("KSTAT_WARN", std::string(program).c_str(), 0);  // NOLINT(concurrency-mt-unsafe)
}

void keep_quiet_about_providers() {
    unsetenv("KSTAT_WARN");  // NOLINT(concurrency-mt-unsafe)
}

std::set<std::string> take_left_out() {
    const std::lock_guard lock(sockets().mutex);
    return std::exchange(sockets().left_out, {});
}

}  // namespace blkscope::program

// Both libraries call it, and the user reads one line.
extern "C" bool kstat_left_out(const char* socket) {
    auto& all = blkscope::program::sockets();
    const std::lock_guard lock(all.mutex);
    all.left_out.insert(socket);
    return all.told.insert(socket).second;
}
