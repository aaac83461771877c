#include "kstat/host/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace blkscope::kstat::host {
namespace {

// /proc/interrupts of a machine with a thousand processors has 10 MB.
constexpr size_t size_max = 64 << 20;
constexpr size_t first_size = 16 << 10;

// Files of /proc report no size.
std::string read_whole(int file) {
    std::string text(first_size, '\0');
    size_t size = 0;
    for (;;) {
        const auto offset = static_cast<off_t>(size);
        const ssize_t count = pread(file, text.data() + size, text.size() - size, offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        size += static_cast<size_t>(count);
        if (size == size_max) break;
        if (size == text.size()) text.resize(2 * size);
    }
    text.resize(size);
    return text;
}

// O_NONBLOCK: an object in a file's place, such as a fifo, must not block the reader.
int open_for_reading(const std::string& path) {
    return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

std::string OpenFile::read(const std::string& path) {
    struct stat now {};
    if (!is_ours(now) || now.st_nlink == 0) {
        shut();
        descriptor_ = open_for_reading(path);
        if (descriptor_ < 0) return {};
        fstat(descriptor_, &opened_);
    }
    return read_whole(descriptor_);
}

bool OpenFile::is_ours(struct stat& now) const {
    return descriptor_ >= 0 && fstat(descriptor_, &now) == 0 && now.st_dev == opened_.st_dev &&
           now.st_ino == opened_.st_ino;
}

void OpenFile::shut() {
    struct stat now {};
    if (is_ours(now)) close(descriptor_);
    descriptor_ = -1;
}

Files::Text Files::get(const std::string& path, const Age& age) {
    auto& kept = kept_[path];
    const std::string& text = kept.get(age, [&] { return read_again(path); });
    return {text, kept.taken()};
}

std::string Files::read_again(const std::string& path) {
    return open_[path].read(root_ + path);
}

std::string Files::read(const std::string& path) const {
    const int file = open_for_reading(root_ + path);
    if (file < 0) return {};
    std::string text = read_whole(file);
    close(file);
    return text;
}

bool Files::exists(const std::string& path) const {
    return access((root_ + path).c_str(), F_OK) == 0;
}

}  // namespace blkscope::kstat::host
