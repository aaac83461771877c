#include "driver/nbd/transmission/transport.hpp"

#include <sys/socket.h>

#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

#include "driver/nbd/transmission/plain_transport.hpp"
#include "driver/nbd/transmission/tls_transport.hpp"

namespace blkscope::nbd {
namespace {

// Asked of the kernel, which gives a Unix socket twice as much: a share of replies with all that
// the kernel adds, so that the next share is read while the client takes this one. The default
// holds less than a share; the rest then waits until three quarters of the default are taken. As
// much as this is allowed everywhere (net.core.wmem_max). More was not faster (measured:
// docs/performance.md).
constexpr int unix_send_bytes = 208 << 10;

}  // namespace

// A TCP socket is left alone: its room grows as the connection needs it until somebody sets it.
Transport::Transport(TransportOwner& owner, Ring& ring, int socket)
    : owner_(owner), ring_(ring), socket_(socket), is_unix_(ring.kernel().is_unix(socket)) {
    assert(socket >= 0);
    if (is_unix_) ring_.kernel().set_send_buffer(socket_, unix_send_bytes);
}

Transport::~Transport() {
    assert(!receiving_ && !sending_);
    ring_.kernel().close(socket_);
}

std::string Transport::reason(int32_t result) const {
    assert(result < 0);
    return std::generic_category().message(-result);
}

bool Transport::is_interrupted(int32_t result) {
    return result == -EINTR || result == -EAGAIN || result == -ECANCELED;
}

void Transport::stop_receiving() {
    if (stopped_) return;
    stopped_ = true;
    ring_.kernel().shutdown(socket_, SHUT_RD);
}

void Transport::cut() {
    stopped_ = true;
    ring_.kernel().shutdown(socket_, SHUT_RDWR);
}

std::unique_ptr<Transport> make_transport(TransportOwner& owner, Ring& ring, int socket,
                                          std::unique_ptr<TlsSession> tls) {
    if (tls == nullptr) return std::make_unique<PlainTransport>(owner, ring, socket);
    return std::make_unique<TlsTransport>(owner, ring, socket, std::move(tls));
}

}  // namespace blkscope::nbd
