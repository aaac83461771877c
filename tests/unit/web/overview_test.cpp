#include "tools/web/overview.hpp"

#include <gtest/gtest.h>

#include <string>

#include "iostat/devices.hpp"

namespace blkscope::web {
namespace {

DeviceLook look_at(const std::string& name, iostat::Kind kind) {
    DeviceLook look{.device = iostat::busy_device(name)};
    look.device.kind = kind;
    return look;
}

std::string overview_of(const Look& look) {
    return overview_text(look, [](const DeviceLook& /*one*/) { return true; }, {});
}

TEST(WebOverview, AClientHasTheNameBehindThatOfItsDisk) {
    const Look look{.devices = {look_at("nbd0", iostat::Kind::disk),
                                look_at("nbd0,client-1", iostat::Kind::client),
                                look_at("nbd01,client-2", iostat::Kind::client)}};
    const std::string text = overview_of(look);
    EXPECT_NE(text.find(R"("client":"client-1")"), std::string::npos) << text;
    EXPECT_EQ(text.find("client-2"), std::string::npos) << text;
}

// Any provider may name a kstat of the class `client` like a disk.
TEST(WebOverview, AClientThatIsNamedLikeADiskIsNone) {
    const Look look{
        .devices = {look_at("foo", iostat::Kind::disk), look_at("foo", iostat::Kind::client)}};
    EXPECT_NE(overview_of(look).find(R"("clients":[])"), std::string::npos);
}

TEST(WebOverview, ADiskHasItsBackingAndItsExport) {
    Look look{.devices = {look_at("nbd0", iostat::Kind::disk)}};
    EXPECT_NE(overview_of(look).find(R"("export":null,"backing":null)"), std::string::npos);
    look.devices.front().settings.source = {.export_name = "scratch", .backing = "/srv/disk.img"};
    EXPECT_NE(overview_of(look).find(R"("export":"scratch","backing":"/srv/disk.img")"),
              std::string::npos);
}

TEST(WebOverview, AnUpstreamHasItsStateAndCounts) {
    Look look{.devices = {look_at("nbd0", iostat::Kind::disk)}};
    EXPECT_NE(overview_of(look).find(R"("upstream":null)"), std::string::npos);
    look.devices.front().settings.upstream = {
        .state = "changed", .counts = {{"resent", 7}}, .round_trip_ns = {}};
    const std::string text = overview_of(look);
    const std::string upstream =
        R"("upstream":{"state":"changed","connected":false,"round_trip_ns":null,"counts":{"resent":7}})";
    EXPECT_NE(text.find(upstream), std::string::npos) << text;
}

}  // namespace
}  // namespace blkscope::web
