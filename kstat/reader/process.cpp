#include "kstat/reader/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace blkscope::kstat {

// The state is the letter behind the name in parentheses. A traced process has the letter t: each
// of its system calls stops it for a moment.
bool is_stopped(pid_t process) {
    const std::string path = "/proc/" + std::to_string(process) + "/stat";
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return false;
    std::array<char, 256> text;
    const ssize_t size = ::read(file.get(), text.data(), text.size());
    if (size <= 0) return false;
    const std::string_view line(text.data(), static_cast<size_t>(size));
    const size_t name_end = line.rfind(')');
    return name_end != std::string_view::npos && line.substr(name_end).starts_with(") T");
}

}  // namespace blkscope::kstat
