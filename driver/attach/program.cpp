#include "driver/attach/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/descriptor.hpp"
#include "base/spawn.hpp"
#include "base/throw_errno.hpp"

namespace blkscope {
namespace {

constexpr size_t output_bytes_max = 4096;
constexpr int status_no_program = 127;

std::string read_all(int fd) {
    std::string text;
    std::array<char, 1024> part{};
    for (;;) {
        const ssize_t bytes = ::read(fd, part.data(), part.size());
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes <= 0) return text;
        text.append(part.data(),
                    std::min(static_cast<size_t>(bytes), output_bytes_max - text.size()));
    }
}

int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) throw_errno("wait for a program");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) < 0) throw_errno("pipe");
    const Descriptor from(pipe[0]);
    Descriptor to(pipe[1]);
    const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing.is_open()) throw_errno("open /dev/null");
    const auto child =
        spawn(arguments, {.input = nothing.get(), .output = to.get(), .errors = to.get()});
    to = Descriptor();  // the program has the only writing end now
    if (!child && child.error() == std::errc::no_such_file_or_directory) {
        return {status_no_program, arguments[0] + ": not found"};
    }
    if (!child) throw_errno("run " + arguments[0], child.error().value());
    std::string output = read_all(from.get());
    return {wait_for(*child), std::move(output)};
}

}  // namespace blkscope
