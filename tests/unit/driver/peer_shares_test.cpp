// The handshake that ends for a new client, and that no owner loses its share of the places.
#include "driver/nbd/server/peer_shares.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "unit/rounds/rounds.hpp"

namespace blkscope::nbd {
namespace {

Peer local(uid_t uid, pid_t pid) {
    return {.kind = Peer::Kind::process, .pid = pid, .uid = uid};
}

Peer from(const std::string& address, uint16_t port = 1) {
    return {
        .kind = Peer::Kind::address, .address = IpAddress::parse(address).value(), .port = port};
}

TEST(PeerShares, WithoutHandshakesNoneGoes) {
    const PeerShares shares;
    EXPECT_FALSE(shares.first_to_end(from("192.0.2.7")));
}

TEST(PeerShares, TheOldestOfTheBusiestAddressGoes) {
    PeerShares shares;
    shares.add(1, from("192.0.2.1"));
    shares.add(2, from("192.0.2.2", 5));
    shares.add(3, from("192.0.2.2", 6));
    shares.add(4, from("192.0.2.3"));
    EXPECT_EQ(shares.first_to_end(from("192.0.2.4")), 2u);
    shares.remove(2);
    EXPECT_EQ(shares.first_to_end(from("192.0.2.4")), 1u);  // all have one
}

TEST(PeerShares, ANewcomerIsOneOfItsOwn) {
    PeerShares shares;
    shares.add(1, from("192.0.2.1"));
    shares.add(2, from("192.0.2.2"));
    EXPECT_EQ(shares.first_to_end(from("192.0.2.2")), 2u);
    EXPECT_EQ(shares.first_to_end(from("192.0.2.1")), 1u);
}

TEST(PeerShares, OfAUserTheBusiestProcessPays) {
    PeerShares shares;
    shares.add(1, local(1000, 1));
    shares.add(2, local(1000, 2));
    shares.add(3, local(1000, 2));
    EXPECT_EQ(shares.first_to_end(local(1000, 3)), 2u);
}

// A user may have many processes with one connection each.
TEST(PeerShares, ManyProcessesOfAUserAreOneOwner) {
    PeerShares shares;
    shares.add(1, local(0, 1));
    shares.add(2, local(0, 1));
    for (pid_t pid = 10; pid < 20; ++pid) {
        shares.add(static_cast<PeerShares::Number>(pid), local(1000, pid));
    }
    EXPECT_EQ(shares.first_to_end(local(1000, 20)), 10u);
    EXPECT_EQ(shares.first_to_end(local(0, 1)), 10u);
}

TEST(PeerShares, AnIpv6NetworkIsOneOwner) {
    PeerShares shares;
    shares.add(1, from("2001:db8:0:1::1"));
    shares.add(2, from("2001:db8:0:2::1"));
    shares.add(3, from("2001:db8:0:2::2"));
    EXPECT_EQ(shares.first_to_end(from("2001:db8:0:3::1")), 2u);
}

TEST(PeerShares, AnIpv4AddressWithinIpv6IsTheSame) {
    PeerShares shares;
    shares.add(1, from("192.0.2.1"));
    shares.add(2, from("::ffff:192.0.2.2"));
    shares.add(3, from("192.0.2.2"));
    EXPECT_EQ(shares.of_client(from("192.0.2.2")), 2u);
    EXPECT_EQ(shares.first_to_end(from("192.0.2.3")), 2u);
}

// In any order of events, no owner gets less than an equal share of the places.
TEST(PeerShares, NoOwnerLosesAPlaceWhileAnotherHasMore) {
    std::mt19937 random(20261122);  // fixed, so that a failure repeats
    constexpr size_t places = 16;
    PeerShares shares;
    std::map<PeerShares::Number, Peer> members;
    const auto owned = [&](const Peer& peer) {
        size_t count = 0;
        for (const auto& [number, member] : members) {
            count += member.owner_key() == peer.owner_key() ? 1 : 0;
        }
        return count;
    };
    const auto last = static_cast<PeerShares::Number>(computed_rounds(20'000));
    for (PeerShares::Number number = 1; number <= last; ++number) {
        const bool honest = random() % 8 == 0;  // one of five, beside an attacker
        const uid_t uid = honest ? static_cast<uid_t>(random() % 5) : 1000;
        const Peer newcomer = local(uid, static_cast<pid_t>(1 + random() % 6));
        if (members.size() == places) {
            const auto goes = shares.first_to_end(newcomer);
            ASSERT_TRUE(goes && members.contains(*goes));
            const Peer loser = members.at(*goes);
            const bool own = loser.owner_key() == newcomer.owner_key();
            const size_t has = owned(loser) + (own ? 1 : 0);
            for (const auto& [other, member] : members) {
                const bool newcomers = member.owner_key() == newcomer.owner_key();
                ASSERT_GE(has, owned(member) + (newcomers ? 1 : 0));
            }
            shares.remove(*goes);
            members.erase(*goes);
        } else if (!members.empty() && random() % 4 == 0) {
            shares.remove(members.begin()->first);
            members.erase(members.begin());
        }
        shares.add(number, newcomer);
        members.emplace(number, newcomer);
        ASSERT_EQ(shares.size(), members.size());
    }
}

}  // namespace
}  // namespace blkscope::nbd
