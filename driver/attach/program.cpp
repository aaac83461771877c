#include "driver/attach/program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/descriptor.hpp"
#include "base/throw_errno.hpp"

namespace blkscope {
namespace {

constexpr size_t output_bytes_max = 4096;
constexpr int status_no_program = 127;

class FileActions {
  public:
    FileActions() { posix_spawn_file_actions_init(&actions_); }
    ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
    FileActions& operator=(FileActions&&) = delete;
    posix_spawn_file_actions_t* get() { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_{};
};

int spawn(const std::vector<std::string>& arguments, int output, pid_t& child) {
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    FileActions actions;
    posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions.get(), output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(actions.get(), output, STDERR_FILENO);
    return posix_spawnp(&child, argv[0], actions.get(), nullptr, argv.data(), environ);
}

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
    pid_t child = 0;
    const int error = spawn(arguments, to.get(), child);
    to = Descriptor();  // the program has the only writing end now
    if (error == ENOENT) return {status_no_program, arguments[0] + ": not found"};
    if (error != 0) throw_errno("run " + arguments[0], error);
    std::string output = read_all(from.get());
    return {wait_for(child), std::move(output)};
}

}  // namespace blkscope
