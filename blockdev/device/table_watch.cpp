#include "blockdev/device/table_watch.hpp"

#include <cstdio>
#include <span>
#include <utility>

namespace blkscope {

std::optional<std::vector<Partition>> TableWatch::take(TableLook look) {
    touched_ = !look.readable;
    if (!look.readable) {
        tell("its sectors cannot be read now; the partitions stay as they were");
        return std::nullopt;
    }
    if (look.table) {
        problem_.clear();
        return std::move(*look.table);
    }
    tell(look.table.error() + "; check it with sfdisk --verify");
    return std::vector<Partition>();
}

void TableWatch::tell(const std::string& problem) {
    if (problem != problem_) {
        std::fprintf(stderr, "blkscope: %s: partition table ignored: %s\n", subject_.name.c_str(),
                     problem.c_str());
    }
    problem_ = problem;
}

}  // namespace blkscope
