#include "blockdev/device/table_watch.hpp"

#include <utility>

#include "base/log_line.hpp"

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
    if (problem != problem_) log_line(subject_.name, ": partition table ignored: ", problem);
    problem_ = problem;
}

}  // namespace blkscope
