// Who is at the other end of a socket: for the allow list, and for the log.
//
// Threads: any that has the socket. Errors: none; one that is gone already is nobody.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>

namespace blkscope::nbd {

using ClientSocket = boost::asio::generic::stream_protocol::socket;

/// The client's address; nothing for a Unix socket.
std::optional<boost::asio::ip::address> peer_address(const ClientSocket& socket);

/// What the log calls it: "192.0.2.7 port 4711", "process 815".
std::string peer_text(ClientSocket& socket);

}  // namespace blkscope::nbd
