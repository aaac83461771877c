#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "driver/attach/attach.hpp"

namespace blkscope {
namespace {

namespace fs = std::filesystem;

// True for /dev/nbd0 and its partitions, /dev/nbd0p1 and so on. /dev/nbd01 is another device.
bool is_on(const std::string& path, const std::string& device) {
    if (!path.starts_with(device)) return false;
    return path.size() == device.size() || path[device.size()] == 'p';
}

// In a mount point, blanks and similar characters are three octal digits: proc(5).
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

// Finds a device mapper or RAID device above the disk or a partition.
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

// Ignores the nbd-client that keeps the device attached.
std::optional<std::string> opener(const fs::path& proc, const std::string& device, int client) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(proc, none)) {
        const std::string pid = entry.path().filename().string();
        const bool is_process =
            std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (!is_process || pid == std::to_string(client) || !has_open(entry.path(), device))
            continue;
        std::string name;
        std::getline(std::ifstream(entry.path() / "comm"), name);
        return "open in process " + pid + " (" + name + ")";
    }
    return {};
}

}  // namespace

std::optional<std::string> device_user(const std::string& device, const SystemRoots& roots) {
    const fs::path proc = roots.proc;
    const fs::path disk = fs::path(roots.sys) / "block" / fs::path(device).filename();
    if (auto point = mount_point(proc, device)) return point;
    if (is_swap(proc, device)) return "swap space";
    if (auto above = holder(disk)) return above;
    int client = 0;
    std::ifstream(disk / "pid") >> client;
    return opener(proc, device, client);
}

}  // namespace blkscope
