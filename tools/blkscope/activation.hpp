// Socket activation: takes the listening sockets that systemd, or a program like it, made before
// it started us.
//
// Threads: must run before any thread is created, because it changes the environment.
// Errors:  std::invalid_argument for invalid variables.
// Source:  sd_listen_fds(3).
#pragma once

#include <sys/types.h>

#include <vector>

namespace blkscope {

/// The values of the variables; null for a variable that is not set.
struct ActivationVariables {
    const char* pid;    // LISTEN_PID: the process that the sockets are for
    const char* fds;    // LISTEN_FDS: the number of sockets
    const char* names;  // LISTEN_FDNAMES: a name for each, separated by colons; optional
};

inline constexpr int first_activated_socket = 3;
inline constexpr unsigned activated_sockets_max = 16;

/// The number of sockets that process `self` was given, from first_activated_socket on. 0 if there
/// are none, or if they are for another process.
unsigned count_activated_sockets(const ActivationVariables& variables, pid_t self);

/// The sockets that this process was given. Programs that we start inherit neither the sockets nor
/// the variables.
std::vector<int> take_activated_sockets();

}  // namespace blkscope
