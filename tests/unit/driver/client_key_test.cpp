// Which connections are one client.
#include "driver/nbd/server/client_key.hpp"

#include <gtest/gtest.h>

#include <string>

namespace blkscope::nbd {
namespace {

Peer process(uid_t uid, pid_t pid, const std::string& program = "qemu") {
    return {.kind = Peer::Kind::process, .pid = pid, .uid = uid, .program = program};
}

Peer peer_at(const std::string& address, uint16_t port) {
    return {
        .kind = Peer::Kind::address, .address = IpAddress::parse(address).value(), .port = port};
}

bool same(const Peer& one, const Peer& other, ClientBy by) {
    return identity_of(one, "", by, 1)->key == identity_of(other, "", by, 2)->key;
}

TEST(ClientKey, APeerIsAProcessOfAUserOrAnAddress) {
    EXPECT_TRUE(same(process(1, 2), process(1, 2), ClientBy::peer));
    EXPECT_FALSE(same(process(1, 2), process(1, 3), ClientBy::peer));
    EXPECT_FALSE(same(process(1, 2), process(2, 2), ClientBy::peer));
    EXPECT_TRUE(same(peer_at("192.0.2.7", 1), peer_at("192.0.2.7", 2), ClientBy::peer));
    EXPECT_TRUE(same(peer_at("192.0.2.7", 1), peer_at("::ffff:192.0.2.7", 2), ClientBy::peer));
    EXPECT_FALSE(same(peer_at("192.0.2.7", 1), peer_at("192.0.2.8", 1), ClientBy::peer));
    EXPECT_FALSE(same(process(1, 2), peer_at("192.0.2.7", 1), ClientBy::peer));
}

TEST(ClientKey, AnAddressIsAUserOnAUnixSocket) {
    EXPECT_TRUE(same(process(1, 2), process(1, 3), ClientBy::address));
    EXPECT_FALSE(same(process(1, 2), process(2, 2), ClientBy::address));
    const auto who = identity_of(process(1, 2), "", ClientBy::address, 1);
    EXPECT_EQ(who->peer, "user 1");
    EXPECT_EQ(who->pid, 0);
    EXPECT_EQ(who->program, "");
}

TEST(ClientKey, EachConnectionMayBeAClientAndNoneMayBe) {
    EXPECT_FALSE(same(process(1, 2), process(1, 2), ClientBy::connection));
    EXPECT_EQ(identity_of(peer_at("192.0.2.7", 9), "", ClientBy::connection, 1)->peer,
              "192.0.2.7 port 9");
    EXPECT_FALSE(identity_of(process(1, 2), "", ClientBy::none, 1));
}

TEST(ClientKey, ATlsNameTellsClientsOfOneAddressApartAndIsShownNowhere) {
    const Peer peer = peer_at("192.0.2.7", 1);
    const auto alice = identity_of(peer, "alice", ClientBy::peer, 1);
    const auto bob = identity_of(peer, "bob", ClientBy::peer, 1);
    EXPECT_NE(alice->key, bob->key);
    EXPECT_EQ(alice->peer, "192.0.2.7");
    EXPECT_EQ(alice->program, "");
    EXPECT_EQ(alice->tls_name, "alice");
    EXPECT_EQ(identity_of(peer, "alice", ClientBy::address, 1)->key,
              identity_of(peer, "bob", ClientBy::address, 1)->key);
}

TEST(ClientKey, AProcessIsShownWithItsUserAndItsEscapedProgram) {
    const auto who = identity_of(process(1000, 815, "evil\n\xff"), "", ClientBy::peer, 1);
    EXPECT_EQ(who->peer, "process 815 of user 1000");
    EXPECT_EQ(who->uid, 1000u);
    EXPECT_EQ(who->pid, 815);
    EXPECT_EQ(who->program, "evil\\x0a\\xff");
}

TEST(ClientKey, WordsAreTheFourOfTheOption) {
    EXPECT_EQ(client_by("connection"), ClientBy::connection);
    EXPECT_EQ(client_by("peer"), ClientBy::peer);
    EXPECT_EQ(client_by("address"), ClientBy::address);
    EXPECT_EQ(client_by("none"), ClientBy::none);
    EXPECT_FALSE(client_by("pid"));
}

}  // namespace
}  // namespace blkscope::nbd
