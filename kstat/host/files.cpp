#include "files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace blkscope::kstat::host {

namespace {

// /proc/interrupts of a machine with a thousand processors has 10 MB.
constexpr size_t size_max = 64 << 20;
constexpr size_t first_size = 16 << 10;

// Files of /proc have no size to ask for.
std::string read_to_end(int file) {
    std::string text(first_size, '\0');
    size_t size = 0;
    for (;;) {
        const ssize_t count = read(file, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        size += static_cast<size_t>(count);
        if (size == size_max) break;
        if (size == text.size()) text.resize(2 * size);
    }
    text.resize(size);
    return text;
}

}  // namespace

Files::Text Files::get(const std::string& path, hrtime_t age_max) {
    auto& kept = kept_[path];
    const std::string& text = kept.get(age_max, [&] { return read(path); });
    return {text, kept.taken()};
}

// O_NONBLOCK: nothing that stands in a file's place, a fifo say, may hold the reader up.
std::string Files::read(const std::string& path) const {
    const int file = open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return {};
    std::string text = read_to_end(file);
    close(file);
    return text;
}

bool Files::exists(const std::string& path) const {
    return access((root_ + path).c_str(), F_OK) == 0;
}

}  // namespace blkscope::kstat::host
