#include "blockdev/backing/image_user.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace blkscope {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether it is the device or one of its partitions: /dev/nbd0 has /dev/nbd0p1, and /dev/sda has
// /dev/sda1. /dev/nbd01 is no part of /dev/nbd0.
bool is_on(std::string_view path, std::string_view device) {
    if (!path.starts_with(device)) return false;
    std::string_view partition = path.substr(device.size());
    if (partition.empty()) return true;
    if (is_number(device.substr(device.size() - 1))) {
        if (partition.front() != 'p') return false;
        partition.remove_prefix(1);
    }
    return is_number(partition);
}

// Blanks and their like in a mount point are written as three octal digits: proc(5).
std::string unescape(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        unsigned code = 0;
        const std::string_view digits = text.substr(i + 1, 3);
        if (text[i] == '\\' && digits.size() == 3 &&
            std::from_chars(digits.data(), digits.data() + 3, code, 8).ptr == digits.data() + 3) {
            out += static_cast<char>(code);
            i += 3;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::optional<std::string> mount_point(const fs::path& proc, const std::string& device) {
    std::ifstream mounts(proc / "self/mounts");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string what;
        std::string where;
        words >> what >> where;
        if (is_on(what, device)) return "mounted on " + unescape(where);
    }
    return {};
}

bool is_swap(const fs::path& proc, const std::string& device) {
    std::ifstream swaps(proc / "swaps");
    for (std::string line; std::getline(swaps, line);) {
        if (is_on(line.substr(0, line.find_first_of(" \t")), device)) return true;
    }
    return false;
}

// A device mapper or RAID device on top of it, in the disk's folder or a partition's.
std::optional<std::string> holder(const fs::path& disk) {
    std::vector<fs::path> folders{disk / "holders"};
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(disk, none)) {
        if (fs::exists(entry.path() / "partition", none))
            folders.push_back(entry.path() / "holders");
    }
    for (const fs::path& folder : folders) {
        for (const auto& entry : fs::directory_iterator(folder, none)) {
            return "held by " + entry.path().filename().string();
        }
    }
    return {};
}

bool has_open(const fs::path& process, const std::string& device) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(process / "fd", none)) {
        if (is_on(fs::read_symlink(entry.path(), none).string(), device)) return true;
    }
    return false;
}

std::vector<fs::path> processes(const fs::path& proc) {
    std::vector<fs::path> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(proc, none)) {
        if (is_number(entry.path().filename().string())) found.push_back(entry.path());
    }
    return found;
}

// "process 815 (fio)"
std::string name_of(const fs::path& process) {
    std::string name;
    std::getline(std::ifstream(process / "comm"), name);
    return "process " + process.filename().string() + " (" + name + ")";
}

// Neither this process nor the nbd-client that keeps the device attached.
std::optional<std::string> opener(const SystemRoots& roots, const std::string& device, int client) {
    for (const fs::path& process : processes(roots.proc)) {
        const std::string pid = process.filename().string();
        if (pid == std::to_string(client) || pid == std::to_string(roots.self)) continue;
        if (has_open(process, device)) return "open in " + name_of(process);
    }
    return {};
}

bool is_same(const fs::path& path, const struct stat& file) {
    struct stat found {};
    return stat(path.c_str(), &found) == 0 && found.st_dev == file.st_dev &&
           found.st_ino == file.st_ino;
}

// The kernel lists a descriptor's locks in lines of this name.
bool has_lock(const fs::path& descriptor_info) {
    std::ifstream info(descriptor_info);
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("lock:")) return true;
    }
    return false;
}

bool has_locked(const fs::path& process, const struct stat& file) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(process / "fd", none)) {
        if (is_same(entry.path(), file) && has_lock(process / "fdinfo" / entry.path().filename())) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::optional<std::string> device_user(const std::string& device, const SystemRoots& roots) {
    const fs::path proc = roots.proc;
    const fs::path name = fs::path(device).filename();
    fs::path disk = fs::path(roots.sys) / "block" / name;
    if (!fs::exists(disk)) disk = fs::path(roots.sys) / "class/block" / name;  // a partition
    if (auto point = mount_point(proc, device)) return point;
    if (is_swap(proc, device)) return "swap space";
    if (auto above = holder(disk)) return above;
    int client = 0;
    std::ifstream(disk / "pid") >> client;
    return opener(roots, device, client);
}

std::optional<std::string> file_locker(const struct stat& file, const SystemRoots& roots) {
    for (const fs::path& process : processes(roots.proc)) {
        if (process.filename().string() == std::to_string(roots.self)) continue;
        if (has_locked(process, file)) return "locked by " + name_of(process);
    }
    return {};
}

std::optional<std::string> loop_device(const struct stat& file, const SystemRoots& roots) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(fs::path(roots.sys) / "block", none)) {
        std::string backing;
        std::getline(std::ifstream(entry.path() / "loop/backing_file"), backing);
        int read_only = 0;
        std::ifstream(entry.path() / "ro") >> read_only;
        if (backing.empty() || read_only != 0 || !is_same(backing, file)) continue;
        return "the file of /dev/" + entry.path().filename().string();
    }
    return {};
}

}  // namespace blkscope
