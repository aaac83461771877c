// Dial: the addresses of a URI's server, and a connection to one of them with a deadline.
//
// Units:     none.
// Ownership: the caller owns the socket, which is non-blocking.
// Threads:   any. find_addresses() blocks while a host's name is looked up, without a limit. The
//            other calls block until the deadline.
// Errors:    find_addresses(): the number that gai_strerror(3) explains; EAI_SYSTEM is explained by
//            errno. Of the others, a closed descriptor or false, with the reason in errno.
// Source:    connect(2), getaddrinfo(3).
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <span>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "driver/nbd/client/remote_connection.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

using Deadline = std::chrono::steady_clock::time_point;

/// All addresses of the URI's server.
[[nodiscard]] Result<std::vector<ServerAddress>, int> find_addresses(const Uri& uri);

/// Connects to the first address that answers. The connection has no export yet.
[[nodiscard]] RemoteConnection dial(std::span<const ServerAddress> addresses, Deadline deadline);

/// Waits until the socket is ready for the event of poll(2).
[[nodiscard]] bool is_ready(const Descriptor& socket, short event, Deadline deadline);

}  // namespace blkscope::nbd
