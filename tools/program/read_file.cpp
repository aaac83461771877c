#include "tools/program/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "base/descriptor.hpp"
#include "base/throw_errno.hpp"

namespace blkscope::program {
namespace {

constexpr size_t chunk_bytes = size_t{1} << 16;
constexpr int first_byte_ms = 5000;

const char* kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISBLK(mode)) return "a disk";
    if (S_ISCHR(mode)) return "a device";
    if (S_ISFIFO(mode)) return "a pipe";
    return "no file";
}

// A FIFO without a writer keeps open(2) waiting for ever, so the open does not wait, and this does.
void wait_for_writer(int descriptor, const std::string& path) {
    pollfd waited{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waited, 1, first_byte_ms);
    if (ready < 0 && errno != EINTR) throw_errno("read " + path);
    if (ready == 0) throw std::invalid_argument(path + ": a pipe from which nothing came");
    const int flags = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) < 0) {
        throw_errno("read " + path);
    }
}

}  // namespace

std::string read_file(const std::string& path, size_t bytes_max, Pipes pipes) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0) throw_errno("read " + path);
    const auto refuse_size = [&] {
        throw std::invalid_argument(
            fmt::format("{}: it is larger than {} MiB", path, bytes_max >> 20));
    };
    std::string text;
    if (S_ISREG(info.st_mode)) {
        const auto size = static_cast<size_t>(info.st_size);
        if (size > bytes_max) refuse_size();
        text.reserve(size + 1);
    } else if (S_ISFIFO(info.st_mode) && pipes == Pipes::read) {
        wait_for_writer(file.get(), path);
    } else {
        throw std::invalid_argument(fmt::format("{}: it is {}", path, kind_of(info.st_mode)));
    }
    for (;;) {
        const size_t before = text.size();
        text.resize(std::max(before + chunk_bytes, text.capacity()));
        const ssize_t count = ::read(file.get(), text.data() + before, text.size() - before);
        const int error = errno;
        text.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
        if (count == 0) return text;
        if (count < 0 && error != EINTR) throw_errno("read " + path, error);
        if (text.size() > bytes_max) refuse_size();
    }
}

}  // namespace blkscope::program
