// blkscope list: the exports of all servers on this machine, and the kernel devices attached.
#pragma once

#include <string>
#include <vector>

namespace blkscope {

struct ListCommand {
    std::vector<std::string> devices;  // empty: all
    bool verbose = false;
};

/// Prints two tables on standard output. With `verbose`, lines about the depth, the model, the limits
/// and the faults follow each export. Where nothing is served, a line on standard error says where the
/// command has looked.
///
/// Errors: throws std::system_error if the kstats cannot be read, and std::runtime_error if a named
///         device is not there.
void list(const ListCommand& command);

}  // namespace blkscope
