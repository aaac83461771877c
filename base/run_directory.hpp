// The place where providers and readers meet: the run directory and the sockets in it.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <string_view>

namespace blkscope::kstat {

/// $KSTAT_DIR, else /run/kstat for root, else $XDG_RUNTIME_DIR/kstat, else /run/kstat. The last one
/// lets a user without a directory of their own read the system's kstats.
std::string run_directory();

/// The name of a provider's socket in the run directory: "<pid>.sock".
std::string socket_name(int pid);

/// The pid in such a name; nothing if `name` is not one.
std::optional<int> pid_of_socket(std::string_view name);

/// The address of a socket called `name` in the directory behind the descriptor `directory`. The
/// address uses the descriptor, so the path may be longer than the 107 bytes of sun_path.
sockaddr_un socket_address(int directory, const std::string& name);

}  // namespace blkscope::kstat
