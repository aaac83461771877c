// The run directory, where providers have their sockets and readers find them.
//
//     /run/kstat/
//       4711.sock      the socket of the provider with pid 4711
//       4712.sock
//
// Threads: any.
// Source:  unix(7).
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope {

/// The path: $KSTAT_DIR, else /run/kstat for root, else $XDG_RUNTIME_DIR/kstat, else /run/kstat. A
/// user without a directory of their own can still read the system's.
std::string run_directory();

/// The run directory of the machine, for root and for the members of a group: /run/kstat.
inline constexpr const char* machine_run_directory = "/run/kstat";

/// The directories that a reader looks in, each once. $KSTAT_DIR is the only one if it is set.
/// Otherwise they are the run directory, /run/kstat and $XDG_RUNTIME_DIR/kstat, and for root those
/// of all users, /run/user/UID/kstat. Not all of them need exist.
std::vector<std::string> reader_directories();

/// The name of a provider's socket in the run directory: "<pid>.sock".
std::string socket_name(int pid);

/// The pid in the name of a socket; nothing if the name has another form.
std::optional<int> pid_of_socket(std::string_view name);

/// The address of the socket `name` in the directory of the open descriptor `directory`. The path
/// goes through the descriptor, so its own length may exceed the 107 bytes of sun_path.
///
/// Ownership: borrows `directory`, which stays open until bind(2) or connect(2) has returned.
sockaddr_un socket_address(int directory, const std::string& name);

}  // namespace blkscope
