#include "driver/nbd/client/connect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "driver/nbd/client/blocking_stream.hpp"
#include "driver/nbd/client/dial.hpp"

namespace blkscope::nbd {
namespace {

[[noreturn]] void fail_to_connect(const Uri& uri, const std::string& why) {
    throw std::runtime_error(fmt::format("{}: {}", uri.text(), why));
}

std::string reason_of_errno() {
    if (errno == 0) return "the server has closed the connection";
    if (errno == ETIMEDOUT) return "the server does not answer in time";
    return std::generic_category().message(errno);
}

void check_usable(const Uri& uri) {
    if (uri.tls) {
        throw std::invalid_argument(uri.text() +
                                    ": TLS is not supported here; use nbd:// through "
                                    "a tunnel, or a Unix socket");
    }
    if (uri.export_name.size() > string_bytes_max) {
        throw std::invalid_argument("the name of the export is longer than NBD allows");
    }
    if (uri.socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
        throw std::invalid_argument(uri.text() + ": the path of the socket is too long");
    }
}

RemoteExport negotiate_export(const RemoteConnection& connection, const Uri& uri,
                              ClientWishes wishes, Deadline deadline) {
    ClientHandshake handshake(std::move(wishes));
    BlockingStream stream(connection, deadline);
    std::array<std::byte, 4096> buffer{};
    for (;;) {
        const auto place = std::span(buffer).first(std::min(buffer.size(), handshake.wanted()));
        if (!stream.receive_all(place)) fail_to_connect(uri, reason_of_errno());
        const ClientHandshake::Step step = handshake.feed(place);
        if (!step.send.empty() && !stream.send_all(step.send)) {
            fail_to_connect(uri, reason_of_errno());
        }
        if (step.next == ClientHandshake::Next::failed) fail_to_connect(uri, handshake.failure());
        if (step.next == ClientHandshake::Next::transmission) return handshake.remote();
    }
}

RemoteConnection connect_to(std::span<const ServerAddress> addresses, const Uri& uri,
                            ClientWishes wishes, Deadline deadline) {
    wishes.export_name = uri.export_name;
    RemoteConnection connection = dial(addresses, deadline);
    const int socket = connection.socket.get();
    if (socket < 0) fail_to_connect(uri, reason_of_errno());
    if (uri.socket_path.empty()) {
        const int on = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    connection.remote = negotiate_export(connection, uri, std::move(wishes), deadline);
    const int flags = fcntl(socket, F_GETFL);
    if (flags < 0 || fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) < 0) {
        fail_to_connect(uri, reason_of_errno());
    }
    return connection;
}

}  // namespace

RemoteConnection connect_to_export(const Uri& uri, ClientWishes wishes,
                                   std::chrono::milliseconds limit) {
    check_usable(uri);
    const std::vector<ServerAddress> addresses = find_addresses(uri);
    return connect_to(addresses, uri, std::move(wishes), std::chrono::steady_clock::now() + limit);
}

RemoteConnection connect_to_address(const Uri& uri, const ServerAddress& address,
                                    ClientWishes wishes, std::chrono::milliseconds limit) {
    return connect_to({&address, 1}, uri, std::move(wishes),
                      std::chrono::steady_clock::now() + limit);
}

}  // namespace blkscope::nbd
