// The readers that see a kstat: its zones, and KSTAT2_MF_PRIV.
#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

constexpr Viewer of_zone(zoneid_t zone) {
    return {false, zone};
}

void expect_hidden(const kstat2_t* ksp, const Viewer& viewer) {
    EXPECT_FALSE(listed(ksp, viewer));
    EXPECT_EQ(read(ksp, viewer).error, ENXIO);
}

TEST(Kstat2Zones, AllZonesSeeWhatIsMadeForAll) {
    const Owned ksp(number("misc/zone/all", 1, 0, ALL_ZONES));
    for (const zoneid_t zone : {no_zone, GLOBAL_ZONEID, 7}) {
        EXPECT_TRUE(listed(ksp.get(), of_zone(zone)));
        EXPECT_EQ(read(ksp.get(), of_zone(zone)).error, 0);
    }
}

TEST(Kstat2Zones, OnlyTheGlobalOneSeesWhatIsMadeForIt) {
    const Owned ksp(number("misc/zone/global", 1, 0, GLOBAL_ZONEID));
    EXPECT_TRUE(listed(ksp.get(), of_zone(GLOBAL_ZONEID)));
    expect_hidden(ksp.get(), of_zone(7));
    expect_hidden(ksp.get(), of_zone(no_zone));
}

TEST(Kstat2Zones, TheGlobalOneDoesNotSeeWhatIsMadeForAnotherUnlessAsked) {
    const Owned hidden(number("misc/zone/seven", 1, 0, 7));
    expect_hidden(hidden.get(), of_zone(GLOBAL_ZONEID));
    EXPECT_TRUE(listed(hidden.get(), of_zone(7)));
    const Owned seen(number("misc/zone/seven_too", 1, KSTAT2_FLAG_GZ_VIS, 7));
    EXPECT_TRUE(listed(seen.get(), of_zone(GLOBAL_ZONEID)));
    EXPECT_TRUE(listed(seen.get(), of_zone(7)));
    expect_hidden(seen.get(), of_zone(8));
}

TEST(Kstat2Zones, MayBeAddedAndRemoved) {
    const Owned ksp(number("misc/zone/moving", 1, 0, 7));
    const auto before = Maps::of_this_process().generation(of_zone(8));
    kstat2_zone_add(ksp.get(), 8);
    kstat2_zone_add(ksp.get(), 8);
    EXPECT_TRUE(listed(ksp.get(), of_zone(8)));
    EXPECT_NE(Maps::of_this_process().generation(of_zone(8)), before);
    kstat2_zone_remove(ksp.get(), 8);
    expect_hidden(ksp.get(), of_zone(8));
    EXPECT_EQ(Maps::of_this_process().generation(of_zone(8)), before);
    kstat2_zone_add(ksp.get(), ALL_ZONES);
    EXPECT_TRUE(listed(ksp.get(), of_zone(no_zone)));
    kstat2_zone_remove(ksp.get(), ALL_ZONES);
    expect_hidden(ksp.get(), of_zone(no_zone));
    EXPECT_TRUE(listed(ksp.get(), of_zone(7)));
}

TEST(Kstat2Zones, WhatCannotBeDoneIsSaid) {
    const Owned ksp(number("misc/zone/wrong", 1, 0, 7));
    EXPECT_NE(said([&] { kstat2_zone_remove(ksp.get(), 8); }).find("not a kstat of zone 8"),
              std::string::npos);
    EXPECT_NE(said([&] { kstat2_zone_add(ksp.get(), 10000); }).find("no zone 10000"),
              std::string::npos);
    kstat2_t stranger{};
    EXPECT_NE(said([&] { kstat2_zone_add(&stranger, 8); }).find("is not a kstat"),
              std::string::npos);
}

TEST(Kstat2Zones, AreDeletedFromOnlyIfTheySeeIt) {
    kstat2_t* const ksp = number("misc/zone/deleted", 1, 0, 7);
    const kid_t kid = ksp->ks2_kid;
    kstat2_delete_zone(kid, 8);
    kstat2_delete_zone(kid, GLOBAL_ZONEID);
    EXPECT_TRUE(listed(ksp, of_zone(7)));
    kstat2_delete_zone(kid, 7);
    EXPECT_EQ(kstat2_hold_bykid(kid), nullptr);
}

TEST(Kstat2Zones, APrivateKstatIsAsIfItWereNotThere) {
    const auto before = Maps::of_this_process().generation(anyone);
    const auto before_root = Maps::of_this_process().generation(root);
    const Owned ksp(number("misc/private/one", 1, 0, ALL_ZONES, KSTAT2_MF_PRIV));
    expect_hidden(ksp.get(), anyone);
    EXPECT_EQ(Maps::of_this_process().generation(anyone), before);
    EXPECT_NE(Maps::of_this_process().generation(root), before_root);
    EXPECT_TRUE(listed(ksp.get(), root));
    EXPECT_EQ(read(ksp.get(), root).error, 0);
}

TEST(Kstat2Zones, PrivilegeDoesNotReachIntoAnotherZone) {
    const Owned ksp(number("misc/private/seven", 1, 0, 7, KSTAT2_MF_PRIV));
    expect_hidden(ksp.get(), root);
    EXPECT_TRUE(listed(ksp.get(), Viewer{true, 7}));
}

TEST(Kstat2Zones, AListComesInPagesOfWhatTheViewerSees) {
    const Owned first(number("misc/paged/one", 1));
    const Owned second(number("misc/paged/two", 1, 0, 7));
    const Owned third(number("misc/paged/three", 1));
    const Maps& maps = Maps::of_this_process();
    const auto page = maps.list(anyone, first->ks2_kid - 1, 1);
    ASSERT_EQ(page.maps.size(), 1U);
    EXPECT_TRUE(page.more);
    EXPECT_EQ(page.generation, maps.generation(anyone));
    const auto next = maps.list(anyone, first->ks2_kid, 1);
    ASSERT_EQ(next.maps.size(), 1U);
    EXPECT_EQ(next.maps[0].kid, third->ks2_kid);
    EXPECT_FALSE(maps.list(anyone, third->ks2_kid, 1).more);
    EXPECT_TRUE(maps.list(anyone, third->ks2_kid, 1).maps.empty());
}

}  // namespace

}  // namespace blkscope::kstat2::tests
