#include "tools/iostat/host.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace blkscope::iostat {
namespace {

bool is_octal(char c) {
    return c >= '0' && c <= '7';
}

// Blanks, newlines and backslashes are in octal: a backslash and three digits.
std::string unescaped(const std::string& text) {
    std::string plain;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                            is_octal(text[i + 2]) && is_octal(text[i + 3]);
        if (!escape) {
            plain += text[i];
            continue;
        }
        plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                   (text[i + 3] - '0'));
        i += 3;
    }
    return plain;
}

// A name like /dev/mapper/root is a link to the kernel's name of the device.
std::string kernel_name(const std::string& path) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    return (error ? std::filesystem::path(path) : real).filename().string();
}

std::filesystem::path sysfs_directory(const std::string& name) {
    return std::filesystem::path("/sys/class/block") / name;
}

}  // namespace

std::map<std::string, std::string> read_mounts(std::istream& mounts) {
    std::map<std::string, std::string> places;
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream fields(line);
        std::string device;
        std::string place;
        if (!(fields >> device >> place) || !device.starts_with("/dev/")) continue;
        places.emplace(kernel_name(unescaped(device)), unescaped(place));
    }
    return places;
}

bool is_host_device(const Device& device) {
    constexpr std::string_view served = "nbd";  // the module of every device that blkscope serves
    if (device.module == served || device.name.empty()) return false;
    if (device.name.find_first_of("/.") != std::string::npos) return false;
    std::error_code error;
    return std::filesystem::exists(sysfs_directory(device.name), error);
}

std::string host_device_id(const std::string& name) {
    for (const char* place : {"wwid", "device/wwid"}) {
        std::ifstream file(sysfs_directory(name) / place);
        std::string id;
        if (std::getline(file, id) && !id.empty()) return id;
    }
    return {};
}

}  // namespace blkscope::iostat
