#include "tools/report/child.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/spawn.hpp"
#include "base/throw_errno.hpp"

namespace blkscope::report {

Child::Child(const std::vector<std::string>& command) {
    const auto process = spawn(command);
    if (!process) throw_errno("report: run " + command.front(), process.error().value());
    pid_ = *process;
    process_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    if (!process_.is_open()) throw_errno("report: watch the command");
}

std::optional<int> Child::wait(std::chrono::milliseconds time) {
    pollfd ended{process_.get(), POLLIN, 0};
    const auto left = std::max(time, std::chrono::milliseconds(0));
    if (poll(&ended, 1, static_cast<int>(left.count())) <= 0) return {};
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Child::signal(int number) {
    syscall(SYS_pidfd_send_signal, process_.get(), number, nullptr, 0);
}

}  // namespace blkscope::report
