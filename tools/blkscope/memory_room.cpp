#include "tools/blkscope/memory_room.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

namespace blkscope {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t no_limit = std::numeric_limits<uint64_t>::max();

uint64_t sum(uint64_t one, uint64_t other) {
    return one > no_limit - other ? no_limit : one + other;
}

struct Machine {
    uint64_t memory = no_limit;
    uint64_t swap = 0;
};

Machine read_machine(const fs::path& root) {
    constexpr uint64_t bytes_per_kilobyte = 1024;
    Machine machine;
    std::ifstream in(root / "proc/meminfo");
    std::string name;
    uint64_t kilobytes = 0;
    for (std::string unit; in >> name >> kilobytes && std::getline(in, unit);) {
        if (name == "MemTotal:") machine.memory = kilobytes * bytes_per_kilobyte;
        if (name == "SwapTotal:") machine.swap = kilobytes * bytes_per_kilobyte;
    }
    return machine;
}

// The number in the file. `no_limit` for the word max, and without the file.
uint64_t read_limit(const fs::path& file) {
    uint64_t bytes = 0;
    return std::ifstream(file) >> bytes ? bytes : no_limit;
}

// The limit of one group of version 2, which limits memory and swap apart.
uint64_t limit_of_group(const fs::path& group, uint64_t swap) {
    return sum(read_limit(group / "memory.max"),
               std::min(read_limit(group / "memory.swap.max"), swap));
}

// The limit of one group of version 1, whose second number limits memory and swap together.
uint64_t limit_of_old_group(const fs::path& group, uint64_t swap) {
    return std::min(sum(read_limit(group / "memory.limit_in_bytes"), swap),
                    read_limit(group / "memory.memsw.limit_in_bytes"));
}

// The smallest limit of the group at `path` and of those that it is in. In a container the path may
// be that of the host. Such a group is not found, and the container's own is at the top.
template <class Limit>
uint64_t smallest_limit(const fs::path& top, std::string_view path, Limit limit) {
    fs::path group = top;
    uint64_t smallest = limit(group);
    for (const fs::path& part : fs::path(path).relative_path()) {
        group /= part;
        smallest = std::min(smallest, limit(group));
    }
    return smallest;
}

}  // namespace

uint64_t memory_room(const fs::path& root) {
    const Machine machine = read_machine(root);
    uint64_t room = sum(machine.memory, machine.swap);
    const fs::path groups = root / "sys/fs/cgroup";
    std::ifstream in(root / "proc/self/cgroup");
    for (std::string line; std::getline(in, line);) {  // NUMBER:CONTROLLERS:PATH
        const size_t first = line.find(':');
        const size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        uint64_t limit = no_limit;
        if (controllers.empty()) {
            limit = smallest_limit(groups, path, [&](const fs::path& group) {
                return limit_of_group(group, machine.swap);
            });
        } else if (controllers == "memory") {
            limit = smallest_limit(groups / "memory", path, [&](const fs::path& group) {
                return limit_of_old_group(group, machine.swap);
            });
        }
        room = std::min(room, limit);
    }
    return room;
}

}  // namespace blkscope
