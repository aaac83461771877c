#include "driver/nbd/transmission/transport.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <system_error>
#include <utility>

#include "driver/nbd/transmission/plain_transport.hpp"
#include "driver/nbd/transmission/tls_transport.hpp"

namespace blkscope::nbd {
namespace {

// Bytes of send buffer to request; the kernel doubles this for a Unix socket. The buffer holds a
// share of replies with the kernel's overhead. So the next share is read while the client receives
// this one.
//
// The default buffer holds less than a share. The rest of a share then waits until three quarters
// of the default are read. A buffer of 208 KiB is allowed everywhere (net.core.wmem_max). More was
// not faster (measured: docs/performance.md).
constexpr int unix_send_bytes = 208 << 10;

}  // namespace

// A TCP socket's buffer is not set, because the kernel grows it with the connection until it is
// set.
Transport::Transport(TransportOwner& owner, Ring& ring, int socket)
    : owner_(owner),
      ring_(ring),
      socket_(socket),
      is_unix_(ring.kernel().set_up_if_unix(socket, unix_send_bytes)) {
    assert(socket >= 0);
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

void Transport::receive(std::span<const iovec> places) {
    assert(!receiving_);
    assert(!stopped_);
    assert(!places.empty());
    assert(places.size() <= places_max);
    receiving_ = true;
    std::copy(places.begin(), places.end(), places_.begin());
    places_count_ = places.size();
    receive_into_places();
}

void Transport::send_last(std::span<const std::byte> bytes) {
    assert(!sending_);
    ring_.kernel().send_now(socket_, bytes);
}

bool Transport::has_input() {
    return ring_.kernel().has_input(socket_);
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
