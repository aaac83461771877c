#include "driver/nbd/server/peer.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <cstring>

namespace blkscope::nbd {
namespace {

using Tcp = boost::asio::ip::tcp;

std::optional<Tcp::endpoint> peer_endpoint(const ClientSocket& socket) {
    boost::system::error_code error;
    const auto peer = socket.remote_endpoint(error);
    const int family = peer.protocol().family();
    if (error || (family != AF_INET && family != AF_INET6)) return {};
    Tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), peer.data(), std::min(peer.size(), endpoint.capacity()));
    return endpoint;
}

}  // namespace

std::optional<boost::asio::ip::address> peer_address(const ClientSocket& socket) {
    const auto endpoint = peer_endpoint(socket);
    if (!endpoint) return {};
    return endpoint->address();
}

std::string peer_text(ClientSocket& socket) {
    if (const auto endpoint = peer_endpoint(socket)) {
        return fmt::format("{} port {}", endpoint->address().to_string(), endpoint->port());
    }
    ucred who{};
    socklen_t bytes = sizeof who;
    if (getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) < 0 ||
        who.pid == 0) {
        return "a client";
    }
    return fmt::format("process {}", who.pid);
}

}  // namespace blkscope::nbd
