#include "base/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/blocked_signals.hpp"
#include "base/descriptor.hpp"
#include "base/descriptor_limit.hpp"

namespace blkscope {
namespace {

// An action of this process must not run in the child, which shares its memory.
void take_usual_actions() {
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction now {};
        if (sigaction(number, nullptr, &now) != 0) continue;
        // Under nohup(1) the program goes on at a hang-up, like this process.
        const bool is_users = now.sa_handler == SIG_IGN && number != SIGPIPE && number != SIGXFSZ;
        if (now.sa_handler != SIG_DFL && !is_users) sigaction(number, &usual, nullptr);
    }
}

bool take_files(const StandardFiles& files) {
    const std::array<int, 3> wanted{files.input, files.output, files.errors};
    for (int number = 0; number < 3; ++number) {
        const int file = wanted[static_cast<size_t>(number)];
        const bool is_there = file == number;  // perhaps to be closed at exec
        if ((is_there ? fcntl(file, F_SETFD, 0) : dup2(file, number)) < 0 && !is_there)
            return false;
    }
    return true;
}

// In the child, while the parent waits. Whatever it stores is the parent's, too. Returns if it fails.
void become(char* const* words, const StandardFiles& files) {
    take_usual_actions();
    if (!take_files(files)) return;
    restore_descriptor_limit();
    const sigset_t none = signal_set({});
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    execvp(words[0], words);
}

// How a child says why it could not become the program. Nothing is said if it could: exec closes its end. A
// variable would do after vfork(2), but the thread sanitizer makes a fork(2) of it.
class Verdict {
  public:
    static Result<Verdict> open() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) < 0) return os_error(errno);
        Descriptor said(ends[0]);
        const Descriptor low(ends[1]);
        // Above the numbers that the program's standard files take.
        Descriptor saying(fcntl(low.get(), F_DUPFD_CLOEXEC, 3));
        if (saying.get() < 0) return os_error(errno);
        return Verdict(std::move(said), std::move(saying));
    }

    void say(int error) const {
        while (::write(saying_.get(), &error, sizeof error) < 0 && errno == EINTR) {
        }
    }

    /// Waits until the child has become the program or said an errno. 0: it runs.
    int wait() {
        saying_ = Descriptor();
        int error = 0;
        while (::read(said_.get(), &error, sizeof error) < 0 && errno == EINTR) {
        }
        return error;
    }

  private:
    Verdict(Descriptor said, Descriptor saying)
        : said_(std::move(said)), saying_(std::move(saying)) {}

    Descriptor said_, saying_;
};

}  // namespace

Result<pid_t> spawn(const std::vector<std::string>& words, const StandardFiles& files) {
    assert(!words.empty());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const BlockedSignals until_it_runs(all_signals());
    Result<Verdict> verdict = Verdict::open();
    if (!verdict) return verdict.error();
    // fork(2) would copy the page tables of a server with much memory. The child calls nothing but become().
    const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (child == 0) {
        become(arguments.data(), files);
        verdict->say(errno);
        _exit(127);
    }
    if (child < 0) return os_error(errno);
    const int error = verdict->wait();
    if (error == 0) return child;
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return os_error(error);
}

}  // namespace blkscope
