// The kstats that a peer may see, by its user, its group and its namespace.
#include "kstat/provider/access.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "kstat/provider/publish.hpp"

namespace blkscope::kstat {

namespace {

constexpr uid_t stranger = 54321;
constexpr gid_t auditors = 4711;

Peer somebody(uid_t uid, std::vector<gid_t> groups = {}) {
    return {1, uid, std::move(groups)};
}

TEST(KstatAccess, RootAndOurOwnUserSeePrivateKstatsAndMayWrite) {
    const Access access(std::nullopt);
    for (const uid_t uid : {uid_t{0}, geteuid()}) {
        EXPECT_TRUE(access.sees_private(somebody(uid)));
        EXPECT_TRUE(access.may_write(somebody(uid)));
    }
    EXPECT_FALSE(access.sees_private(somebody(stranger, {auditors})));
    EXPECT_FALSE(access.may_write(somebody(stranger)));
}

TEST(KstatAccess, AGroupMaySeePrivateKstatsAndNotWrite) {
    Access access(std::nullopt);
    access.set_private_group(auditors);
    EXPECT_TRUE(access.sees_private(somebody(stranger, {1, auditors})));
    EXPECT_FALSE(access.sees_private(somebody(stranger, {1, 2})));
    EXPECT_FALSE(access.may_write(somebody(stranger, {auditors})));
}

TEST(KstatAccess, AGroupIsFoundByNameAndByNumber) {
    EXPECT_EQ(find_group("root"), gid_t{0});
    EXPECT_EQ(find_group("4711"), auditors);
    EXPECT_EQ(find_group("no such group"), std::nullopt);
    EXPECT_EQ(find_group(""), std::nullopt);
    EXPECT_THROW(set_private_group("no such group"), std::system_error);
}

TEST(KstatAccess, ThePeerOfASocketIsKnown) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const Peer peer = peer_of(ends[0]);
    EXPECT_EQ(peer.pid, getpid());
    EXPECT_EQ(peer.uid, geteuid());
    EXPECT_NE(std::find(peer.groups.begin(), peer.groups.end(), getegid()), peer.groups.end());
    close(ends[0]);
    close(ends[1]);
    const Access access(std::nullopt);
    EXPECT_FALSE(access.may_write(peer_of(-1))) << "nobody in particular";
}

TEST(KstatAccess, AProcessOfOurOwnNamespaceIsInTheGlobalZone) {
    const Access access(std::nullopt);
    EXPECT_TRUE(place_of(getpid()).user_namespace.starts_with("user:["));
    EXPECT_EQ(access.zone_of({getpid(), stranger, {}}), GLOBAL_ZONEID);
}

TEST(KstatAccess, AProcessOfAnotherNamespaceIsInTheZoneOfItsLabelOrInNone) {
    Access access(std::nullopt);
    ASSERT_TRUE(access.set_zone(7, "user:[2]"));
    const Place ours{"user:[1]", "/"};
    const auto zone_in = [&](const char* name) {
        return access.zone_of(somebody(stranger), {name, "/"}, ours);
    };
    EXPECT_EQ(zone_in("user:[1]"), GLOBAL_ZONEID);
    EXPECT_EQ(zone_in("user:[2]"), 7);
    EXPECT_EQ(zone_in("user:[3]"), kstat2::no_zone);
}

TEST(KstatAccess, AProcessThatHidesItsNamespaceIsInNoZoneUnlessItIsRoots) {
    const Access access(std::nullopt);
    const Place ours{"user:[1]", "/"};
    EXPECT_EQ(access.zone_of(somebody(stranger), {}, ours), kstat2::no_zone);
    EXPECT_EQ(access.zone_of(somebody(0), {}, ours), GLOBAL_ZONEID);
    EXPECT_EQ(place_of(-1).user_namespace, "");
    EXPECT_EQ(place_of(-1).cgroup, "");
}

TEST(KstatAccess, AControlGroupsLabelHoldsForThoseBelowIt) {
    Access access(std::nullopt);
    ASSERT_TRUE(access.set_zone(1, "/machine.slice"));
    ASSERT_TRUE(access.set_zone(2, "/machine.slice/two"));
    const Place ours{"user:[1]", "/system.slice"};
    const auto zone_in = [&](const char* cgroup) {
        return access.zone_of(somebody(stranger), {"user:[1]", cgroup}, ours);
    };
    EXPECT_EQ(zone_in("/machine.slice"), 1);
    EXPECT_EQ(zone_in("/machine.slice/one"), 1);
    EXPECT_EQ(zone_in("/machine.slice/two/init"), 2);
    EXPECT_EQ(zone_in("/machine.slices"), GLOBAL_ZONEID);
}

TEST(KstatAccess, OnlyZonesFrom1To9999HaveLabels) {
    Access access(std::nullopt);
    EXPECT_FALSE(access.set_zone(0, "user:[2]"));
    EXPECT_FALSE(access.set_zone(10000, "user:[2]"));
    EXPECT_FALSE(access.set_zone(1, "two"));
    EXPECT_THROW(set_zone(0, "user:[2]"), std::system_error);
}

}  // namespace

}  // namespace blkscope::kstat
