// ControlSocket: the socket on which a running server is changed, <pid>.ctl in the run directory.
//
//     client ── a line of JSON ──▶ the socket's thread ── post ──▶ control thread: Answer
//     client ◀── a line of JSON ── the socket's thread ◀── a byte in a pipe ──┘
//
// The socket's thread receives and sends. This thread never touches a device. So a client that
// floods the socket or stalls delays only itself. The answers are made on the control thread, which
// also adds and removes exports. So no export can be removed while a request changes it.
//
// A client is a process of root or of the server's own user. The file's mode (0600) keeps others
// out, and SO_PEERCRED is checked as well. The socket first listens under a temporary name. The
// rename replaces the socket of an earlier process with this pid.
//
// Units:     bytes; a line has at most line_bytes_max with its end.
// Ownership: borrows the executor; owns the thread and the sockets.
// Threads:   constructed and destroyed on the executor's thread. The answer is called there.
// Errors:    the constructor throws std::system_error. A client's failure ends that client only. A
//            lack of memory, or an answer that throws, ends all clients.
// Source:    unix(7).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/descriptor.hpp"
#include "driver/nbd/server/executor.hpp"
#include "driver/nbd/server/peer.hpp"

namespace blkscope {

inline constexpr size_t control_line_bytes_max = 65536;
inline constexpr size_t control_clients_max = 8;
inline constexpr std::chrono::seconds control_idle_max{5};

/// The name of a server's control socket in the run directory.
std::string control_socket_name(pid_t pid);

/// Removes the control sockets of servers that were killed.
void remove_dead_control_sockets();

class ControlSocket {
  public:
    /// The answer to a line, without line ends in both.
    using Answer = std::function<std::string(const nbd::Peer& who, std::string_view line)>;

    ControlSocket(nbd::Executor& executor, Answer answer);
    /// Closes all clients and removes the file. Requests that wait for their answer are dropped.
    ~ControlSocket();
    ControlSocket& operator=(ControlSocket&&) = delete;

  private:
    struct Shared;
    class Loop;

    Descriptor directory_;
    std::string name_;
    std::shared_ptr<Shared> shared_;
    std::thread thread_;
};

}  // namespace blkscope
