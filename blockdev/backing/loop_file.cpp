#include "blockdev/backing/loop_file.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

namespace blkscope {
namespace {

namespace fs = std::filesystem;

// The ioctl has the first 63 bytes of the path only.
std::string backing_path(const fs::path& disk) {
    std::ifstream in(disk / "loop/backing_file");
    std::string path{std::istreambuf_iterator<char>(in), {}};
    if (path.ends_with('\n')) path.pop_back();
    return path;
}

bool is_file_of(int fd, const loop_info64& loop) {
    struct stat file {};
    return ::fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_dev == loop.lo_device &&
           file.st_ino == loop.lo_inode;
}

}  // namespace

LoopFile open_loop_file(int device) {
    struct stat is {};
    if (::fstat(device, &is) != 0 || !S_ISBLK(is.st_mode)) return {};
    std::error_code none;
    const fs::path folder = fs::canonical("/sys/dev/block/" + std::to_string(major(is.st_rdev)) +
                                              ":" + std::to_string(minor(is.st_rdev)),
                                          none);
    const bool partition = fs::exists(folder / "partition", none);
    const std::string path = backing_path(partition ? folder.parent_path() : folder);
    loop_info64 loop{};
    if (path.empty() || ::ioctl(device, LOOP_GET_STATUS64, &loop) != 0) return {};
    for (const int mode : {O_RDWR, O_RDONLY}) {
        Descriptor file(::open(path.c_str(), mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        if (!file.is_open() || !is_file_of(file.get(), loop)) continue;
        const bool whole = !partition && loop.lo_offset == 0 && loop.lo_sizelimit == 0;
        return {.file = std::move(file), .whole = whole};
    }
    return {};
}

}  // namespace blkscope
