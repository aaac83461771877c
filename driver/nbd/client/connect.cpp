#include "driver/nbd/client/connect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
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

#include "base/vanished_peer.hpp"
#include "driver/nbd/client/blocking_stream.hpp"
#include "driver/nbd/client/dial.hpp"
#include "driver/nbd/tls/tls.hpp"

namespace blkscope::nbd {
namespace {

[[noreturn]] void fail_to_connect(const Uri& uri, const std::string& why) {
    throw std::runtime_error(fmt::format("{}: {}", uri.text(), why));
}

std::string reason_of_errno(const RemoteConnection& connection) {
    if (errno == EPROTO && connection.tls) return "TLS: " + connection.tls->failure();
    if (errno == 0) return "the server has closed the connection";
    if (errno == ETIMEDOUT) return "the server does not answer in time";
    return std::generic_category().message(errno);
}

void check_usable(const Uri& uri) {
    const bool asks_for_tls = !uri.tls_certificates.empty() || !uri.tls_psk_file.empty();
    if (!uri.tls && asks_for_tls) {
        throw std::invalid_argument(uri.text() +
                                    ": certificates and keys without TLS; use nbds://");
    }
    if (uri.export_name.size() > string_bytes_max) {
        throw std::invalid_argument("the name of the export is longer than NBD allows");
    }
    if (uri.socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
        throw std::invalid_argument(uri.text() + ": the path of the socket is too long");
    }
}

std::shared_ptr<const TlsContext> context_for(const Uri& uri) {
    if (!uri.tls) return nullptr;
    const std::string& name = uri.tls_hostname.empty() ? uri.host : uri.tls_hostname;
    return TlsContext::open_client({.certificates = uri.tls_certificates,
                                    .verify_peer = uri.tls_verify_peer,
                                    .hostname = name,
                                    .psk_file = uri.tls_psk_file,
                                    .user = uri.user});
}

// Negotiates the export, encrypted if there is a context.
void negotiate_export(RemoteConnection& connection, const Uri& uri, ClientWishes wishes,
                      const std::shared_ptr<const TlsContext>& context, Deadline deadline) {
    wishes.export_name = uri.export_name;
    wishes.tls = context != nullptr;
    ClientHandshake handshake(std::move(wishes));
    BlockingStream stream(connection, deadline);
    std::array<std::byte, 4096> buffer{};
    const auto check = [&](bool done) {
        if (!done) fail_to_connect(uri, reason_of_errno(connection));
    };
    for (;;) {
        const auto place = std::span(buffer).first(std::min(buffer.size(), handshake.wanted()));
        check(stream.receive_all(place));
        ClientHandshake::Step step = handshake.feed(place);
        if (step.next == ClientHandshake::Next::start_tls) {
            connection.tls = std::make_unique<TlsSession>(context);
            check(stream.agree_on_tls());
            step = handshake.go_on_in_tls();
        }
        if (!step.send.empty()) check(stream.send_all(step.send));
        if (step.next == ClientHandshake::Next::failed) fail_to_connect(uri, handshake.failure());
        if (step.next == ClientHandshake::Next::transmission) break;
    }
    connection.remote = handshake.remote();
}

RemoteConnection connect_to(std::span<const ServerAddress> addresses, const Uri& uri,
                            ClientWishes wishes, const std::shared_ptr<const TlsContext>& context,
                            Deadline deadline) {
    RemoteConnection connection = dial(addresses, deadline);
    const int socket = connection.socket.get();
    if (socket < 0) fail_to_connect(uri, reason_of_errno(connection));
    if (uri.socket_path.empty()) {
        const int on = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        end_with_vanished_peer(socket);
    }
    negotiate_export(connection, uri, std::move(wishes), context, deadline);
    const int flags = fcntl(socket, F_GETFL);
    if (flags < 0 || fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) < 0) {
        fail_to_connect(uri, reason_of_errno(connection));
    }
    return connection;
}

}  // namespace

RemoteConnection connect_to_export(const Uri& uri, ClientWishes wishes,
                                   std::chrono::milliseconds limit) {
    check_usable(uri);
    const auto context = context_for(uri);
    const auto addresses = find_addresses(uri);
    if (!addresses) {
        const int error = addresses.error();
        fail_to_connect(uri, error == EAI_SYSTEM ? std::generic_category().message(errno)
                                                 : gai_strerror(error));
    }
    return connect_to(*addresses, uri, std::move(wishes), context,
                      std::chrono::steady_clock::now() + limit);
}

RemoteConnection connect_to_address(const Uri& uri, const ServerAddress& address,
                                    ClientWishes wishes, std::chrono::milliseconds limit) {
    return connect_to({&address, 1}, uri, std::move(wishes), context_for(uri),
                      std::chrono::steady_clock::now() + limit);
}

}  // namespace blkscope::nbd
