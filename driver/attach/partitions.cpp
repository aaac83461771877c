#include "driver/attach/partitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "driver/attach/program.hpp"

namespace blkscope {

namespace fs = std::filesystem;

// head(1) opens the disk and reads nothing.
std::string scan_partitions(const std::string& device, std::chrono::milliseconds limit) {
    const std::optional<ProgramResult> opened = run_program({"head", "-c", "0", device}, limit);
    if (!opened) return fmt::format("the disk has not answered for {} s", limit.count() / 1000);
    return opened->status == 0 ? "" : last_line(opened->output);
}

std::vector<std::string> partitions(const std::string& sysfs_folder) {
    std::vector<std::string> names;
    std::error_code error;
    fs::directory_iterator entry(sysfs_folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        std::error_code none;
        if (fs::exists(entry->path() / "partition", none))
            names.push_back(entry->path().filename());
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace blkscope
