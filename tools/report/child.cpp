#include "tools/report/child.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/blocked_signals.hpp"
#include "base/throw_errno.hpp"

namespace blkscope::report {

Child::Child(const std::vector<std::string>& command) {
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // The signals that this process takes or ignores end the command as usual.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    const sigset_t none = signal_set({});
    posix_spawnattr_setsigmask(&attributes, &none);
    const sigset_t usual = signal_set({SIGPIPE, SIGXFSZ});
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error =
        posix_spawnp(&pid_, arguments[0], nullptr, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) throw_errno("report: run " + command.front(), error);
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
