// Real processes around a run directory of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <kstat.h>
#include <sys/types.h>
#include <sys/un.h>

#include <chrono>
#include <functional>
#include <string>

#include "../../eventually.hpp"

namespace blkscope {

/// One end of the line between a test and its child: single bytes.
class Line {
  public:
    explicit Line(int socket) : socket_(socket) {}

    void say(char byte) const;
    /// The next byte; 0 if the other end is closed or sends nothing within half a minute.
    char hear() const;

  private:
    int socket_;
};

/// In a provider: a byte for a step that is done, and the wait for the next.
void take_turns(const Line& line);

/// A forked process that runs a function and exits. Killed at the end of its life.
class ChildProcess {
  public:
    explicit ChildProcess(const std::function<void(const Line&)>& body);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    pid_t pid() const { return pid_; }
    const Line& line() const { return line_; }

    void signal(int number) const;
    /// Waits until it is really stopped.
    void stop() const;
    void kill();
    /// Waits for its end; the exit status, or -1 if a signal ended it.
    int wait();

  private:
    int socket_;
    Line line_;
    pid_t pid_ = -1;
};

/// A child that has said 'r'. Throws if the child says anything else.
struct ReadyChild : ChildProcess {
    explicit ReadyChild(const std::function<void(const Line&)>& body);
};

/// fork() at a moment when the other threads sleep. The address sanitizer's allocator has no handler
/// for fork(). A lock that another thread has just then is taken for ever in the child.
pid_t fork_while_others_sleep();

/// The words of a command of the shell. The status is -1 if a signal ended it.
struct Outcome {
    int status;
    std::string out;
    std::string err;
};

/// A temporary run directory, and a reader on it.
class KstatProcesses : public testing::Test {
  protected:
    KstatProcesses();
    ~KstatProcesses() override;

    void open();
    kstat_t* lookup(const char* module, const char* name = nullptr) const;
    static std::string socket_of(pid_t pid);
    /// A command line as one would type it. The standard error is that of its last command.
    Outcome run_shell(const std::string& command) const;

    std::string directory;
    kstat_ctl_t* kc = nullptr;
};

/// A provider of one RAW kstat `module`:0:counter, four bytes, until it receives a byte.
std::function<void(const Line&)> provide_counter(const char* module);

/// The address of a Unix socket.
sockaddr_un address_of(const std::string& path);

/// The socket of a process that is no provider, where readers look for a provider's.
int listen_as_provider(const std::string& directory, const Line& line);

/// A provider that answers a connection's first bytes in its own way.
void answer_falsely(const std::string& directory, const Line& line,
                    const std::function<void(int)>& answer);

/// Answers a reader's first bytes as a provider does.
void welcome(int reader);

/// Milliseconds that `work` took.
double milliseconds(const std::function<void()>& work);

}  // namespace blkscope
