#include "driver/attach/receivers.hpp"

#include <cassert>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace blkscope {
namespace {

namespace fs = std::filesystem;

std::string name_of(const fs::path& process) {
    std::ifstream in(process / "comm");
    std::string name;
    std::getline(in, name);
    return name;
}

}  // namespace

// A plus sign in front of the queue's name: the thread runs an item of the queue now. A minus sign:
// the thread's last item was of that queue.
std::optional<unsigned> receivers(int index, const std::string& proc) {
    assert(index >= 0);
    if (name_of(fs::path(proc) / "2") != "kthreadd") return std::nullopt;
    const std::string running = "+nbd" + std::to_string(index) + "-recv";
    unsigned count = 0;
    std::error_code error;
    fs::directory_iterator process(proc, error);
    for (; !error && process != fs::directory_iterator(); process.increment(error)) {
        if (name_of(process->path()).ends_with(running)) ++count;
    }
    return count;
}

}  // namespace blkscope
