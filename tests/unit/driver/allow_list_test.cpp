// The addresses that an allow list allows, and the entries that it refuses.
#include "driver/nbd/server/allow_list.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace blkscope::nbd {
namespace {

bool allows(const std::vector<std::string>& entries, const char* client) {
    return AllowList(entries).allows(IpAddress::parse(client).value());
}

TEST(AllowList, WithoutEntriesAllowsEveryone) {
    EXPECT_TRUE(allows({}, "203.0.113.9"));
    EXPECT_TRUE(allows({}, "2001:db8::1"));
}

TEST(AllowList, AnAddressAllowsItselfOnly) {
    EXPECT_TRUE(allows({"10.0.0.1"}, "10.0.0.1"));
    // A comparison of texts would allow these.
    for (const char* other : {"10.0.0.10", "110.0.0.1", "10.0.0.0", "::1"}) {
        EXPECT_FALSE(allows({"10.0.0.1"}, other)) << other;
    }
}

TEST(AllowList, ANetworkAllowsWhatHasItsPrefix) {
    EXPECT_TRUE(allows({"10.128.0.0/9"}, "10.128.0.0"));
    EXPECT_TRUE(allows({"10.128.0.0/9"}, "10.255.255.255"));
    EXPECT_FALSE(allows({"10.128.0.0/9"}, "10.127.255.255"));
    EXPECT_TRUE(allows({"2001:db8::/33"}, "2001:db8:7fff::1"));
    EXPECT_FALSE(allows({"2001:db8::/33"}, "2001:db8:8000::1"));
}

TEST(AllowList, APrefixOfNothingAllowsTheWholeFamilyAndNoOther) {
    EXPECT_TRUE(allows({"0.0.0.0/0"}, "203.0.113.9"));
    EXPECT_FALSE(allows({"0.0.0.0/0"}, "2001:db8::1"));
    EXPECT_TRUE(allows({"::/0"}, "2001:db8::1"));
}

TEST(AllowList, AnIpv4ClientOfAnIpv6SocketIsAnIpv4Client) {
    EXPECT_TRUE(allows({"10.0.0.0/8"}, "::ffff:10.1.2.3"));
    EXPECT_FALSE(allows({"10.0.0.0/8"}, "::ffff:11.1.2.3"));
    EXPECT_FALSE(allows({"::/0"}, "::ffff:10.1.2.3"));
}

TEST(AllowList, AnyEntryWillDo) {
    const std::vector<std::string> entries{"127.0.0.1", "::1", "192.168.0.0/16"};
    EXPECT_TRUE(allows(entries, "::1"));
    EXPECT_TRUE(allows(entries, "192.168.3.4"));
    EXPECT_FALSE(allows(entries, "192.169.3.4"));
}

TEST(AllowList, AnEntryThatIsNoneIsRefused) {
    for (const char* entry : {"", "localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
                              "10.0.0.0/8x", "10.0.0", "::1/129", "10.1.2.3/8", "fd00::1/8"}) {
        EXPECT_THROW(AllowList({entry}), std::invalid_argument) << entry;
    }
}

}  // namespace
}  // namespace blkscope::nbd
