// Socket activation: the listening sockets that systemd, or a program that acts like it, made
// before it started us.
//
// Threads: before any other is made; the environment is changed.
// Errors:  std::invalid_argument for variables that make no sense.
// Source:  sd_listen_fds(3).
#pragma once

#include <sys/types.h>

#include <vector>

namespace blkscope {

/// What the variables say, each null if it is not set.
struct ActivationVariables {
    const char* pid;    // LISTEN_PID: whom they are for
    const char* fds;    // LISTEN_FDS: how many
    const char* names;  // LISTEN_FDNAMES: one for each, with colons between; may be missing
};

inline constexpr int first_activated_socket = 3;
inline constexpr unsigned activated_sockets_max = 16;

/// How many sockets process `self` was given, from first_activated_socket on; 0 if none, or if they
/// were meant for another process.
unsigned count_activated_sockets(const ActivationVariables& variables, pid_t self);

/// The sockets that this process was given. Programs that we start get neither them nor the
/// variables.
std::vector<int> take_activated_sockets();

}  // namespace blkscope
