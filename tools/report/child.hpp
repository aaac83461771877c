// The command of a run, as a process of its own in the foreground group.
//
// Ownership: owns the process until wait() has seen its end.
// Threads:   one.
// Errors:    the constructor throws std::system_error if the command cannot be started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace blkscope::report {

class Child {
  public:
    explicit Child(const std::vector<std::string>& command);

    /// Waits for the end, at most this long. Returns the exit status, or 128 and the signal; none if
    /// the command still runs.
    [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds time);

    /// Sends a signal, unless the command has ended.
    void signal(int number);

  private:
    pid_t pid_ = -1;
    Descriptor process_;
};

}  // namespace blkscope::report
