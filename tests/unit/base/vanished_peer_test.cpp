#include "base/vanished_peer.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/descriptor.hpp"

namespace blkscope {
namespace {

int option(const Descriptor& socket, int level, int name) {
    int value = -1;
    socklen_t bytes = sizeof value;
    EXPECT_EQ(getsockopt(socket.get(), level, name, &value, &bytes), 0);
    return value;
}

TEST(VanishedPeer, EndsAConnectionWithinAMinute) {
    for (const int family : {AF_INET, AF_INET6}) {
        const Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (!socket.is_open()) continue;  // a machine may have no IPv6
        end_with_vanished_peer(socket.get());
        EXPECT_EQ(option(socket, SOL_SOCKET, SO_KEEPALIVE), 1);
        EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_KEEPIDLE) +
                      option(socket, IPPROTO_TCP, TCP_KEEPCNT) *
                          option(socket, IPPROTO_TCP, TCP_KEEPINTVL),
                  vanished_peer_seconds);
        EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), vanished_peer_seconds * 1000);
    }
}

TEST(VanishedPeer, LeavesAUnixSocketUsable) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const Descriptor one(ends[0]);
    const Descriptor other(ends[1]);
    end_with_vanished_peer(one.get());
    EXPECT_EQ(::send(one.get(), "x", 1, MSG_NOSIGNAL), 1);
}

}  // namespace
}  // namespace blkscope
