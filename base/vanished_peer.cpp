#include "base/vanished_peer.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace blkscope {
namespace {

constexpr int idle_seconds = 30;  // firewalls forget after minutes
constexpr int probe_seconds = 10;
constexpr int probes = 3;
static_assert(idle_seconds + probes * probe_seconds == vanished_peer_seconds);

void set_option(int socket, int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

void end_with_vanished_peer(int socket) {
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle_seconds);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, probe_seconds);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, vanished_peer_seconds * 1000);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

}  // namespace blkscope
