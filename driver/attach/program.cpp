#include "driver/attach/program.hpp"

#include <fcntl.h>
#include <poll.h>
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

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Waits for the next bytes or the end. False: the deadline has passed.
bool wait_for_bytes(int fd, Deadline deadline) {
    using std::chrono::ceil, std::chrono::milliseconds;
    if (!deadline) return true;  // read() waits
    for (;;) {
        const auto left = ceil<milliseconds>(*deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) return false;
        pollfd wait{fd, POLLIN, 0};
        if (::poll(&wait, 1, static_cast<int>(left.count())) > 0) return true;
    }
}

// Nothing if the deadline passes before the end.
std::optional<std::string> read_all(int fd, Deadline deadline) {
    std::string text;
    std::array<char, 1024> part{};
    for (;;) {
        if (!wait_for_bytes(fd, deadline)) return std::nullopt;
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

// The end of the program's output is taken for its end: it holds the only writing end.
std::optional<ProgramResult> run_until(const std::vector<std::string>& arguments,
                                       Deadline deadline) {
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
        return ProgramResult{status_no_program, arguments[0] + ": not found"};
    }
    if (!child) throw_errno("run " + arguments[0], child.error().value());
    std::optional<std::string> output = read_all(from.get(), deadline);
    if (!output) return std::nullopt;
    return ProgramResult{wait_for(*child), *std::move(output)};
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments) {
    return *run_until(arguments, {});
}

std::optional<ProgramResult> run_program(const std::vector<std::string>& arguments,
                                         std::chrono::milliseconds limit) {
    return run_until(arguments, std::chrono::steady_clock::now() + limit);
}

std::string last_line(const std::string& output) {
    const size_t end = output.find_last_not_of(" \n\r\t");
    if (end == std::string::npos) return "no reason given";
    const size_t newline = output.find_last_of('\n', end);
    const size_t begin = newline == std::string::npos ? 0 : newline + 1;
    return output.substr(begin, end - begin + 1);
}

}  // namespace blkscope
