#include "tools/iostat/changes.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

std::string changes(const Snapshot& before, const Snapshot& now) {
    return change_lines(device_changes(before, now));
}

TEST(IostatChanges, EachKindHasItsWords) {
    const Snapshot all{idle_device("sd0"),
                       idle_device("sd1,b", Kind::partition),
                       idle_device("st0", Kind::tape),
                       idle_device("nfs1", Kind::nfs),
                       idle_device("ssd0.t1.fp0", Kind::path),
                       idle_device("c1", Kind::controller)};
    EXPECT_EQ(
        changes({}, all),
        "<<disk added: sd0>>\n<<partition added: sd1,b>>\n<<device added: st0>>\n"
        "<<NFS mounted: nfs1>>\n<<multi-path added: ssd0.t1.fp0>>\n<<controller added: c1>>\n");
    EXPECT_EQ(changes(all, {}),
              "<<disk removed: sd0>>\n<<partition removed: sd1,b>>\n<<device removed: st0>>\n"
              "<<NFS unmounted: nfs1>>\n<<multi-path removed: ssd0.t1.fp0>>\n<<controller removed: "
              "c1>>\n");
}

TEST(IostatChanges, PartitionsThatComeWithTheirDiskAreNamedInItsLine) {
    const Snapshot disk{idle_device("sd1"), idle_device("sd1,a", Kind::partition),
                        idle_device("sd1,b", Kind::partition),
                        idle_device("sd1,efi", Kind::partition),
                        idle_device("sd10,a", Kind::partition)};
    EXPECT_EQ(changes({}, disk),
              "<<disk added: sd1 (slices 0, 1, efi)>>\n<<partition added: sd10,a>>\n");
}

TEST(IostatChanges, APartitionOfADiskThatStayedHasItsOwnLine) {
    const Snapshot before{idle_device("sd0")};
    const Snapshot now{idle_device("sd0"), idle_device("sd0,a", Kind::partition)};
    EXPECT_EQ(changes(before, now), "<<partition added: sd0,a>>\n");
}

TEST(IostatChanges, DisksThatComeWithTheirControllerAreNamedInItsLine) {
    const Snapshot now{idle_device("c1", Kind::controller), idle_device("c1t0d0"),
                       idle_device("c1t1d0"), idle_device("c1t1d0,a", Kind::partition),
                       idle_device("sd0")};
    EXPECT_EQ(changes({}, now),
              "<<controller added: c1 (disks t0d0, t1d0)>>\n<<partition added: c1t1d0,a>>\n"
              "<<disk added: sd0>>\n");
    EXPECT_EQ(changes({now[0], now[1]}, {now[0], now[1], now[2]}), "<<disk added: c1t1d0>>\n");
}

TEST(IostatChanges, OneOfTwoDevicesOfANameMayComeAndGo) {
    const Snapshot one{idle_device("sd0")};
    const Snapshot two{idle_device("sd0"), idle_device("sd0")};
    EXPECT_FALSE(same_devices(one, two));
    EXPECT_EQ(changes(two, one), "<<disk removed: sd0>>\n");
    EXPECT_EQ(changes(one, two), "<<disk added: sd0>>\n");
    EXPECT_EQ(changes(two, two), "");
}

TEST(IostatChanges, AClientThatComesIsNoChange) {
    const Snapshot before{idle_device("nbd0"), idle_device("nbd0,client-1", Kind::client)};
    const Snapshot now{idle_device("nbd0"), idle_device("nbd0,client-2", Kind::client)};
    EXPECT_TRUE(same_devices(before, now));
    EXPECT_EQ(changes(before, now), "");
}

TEST(IostatChanges, ADeviceCreatedAnewWasRemovedAndAdded) {
    const Snapshot before{idle_device("sd0"), idle_device("sd0,a", Kind::partition),
                          idle_device("sd1")};
    Snapshot now = before;
    now[0].crtime += 1;
    now[1].crtime += 1;
    EXPECT_FALSE(same_devices(before, now));
    EXPECT_EQ(changes(before, now),
              "<<disk removed: sd0 (slices 0)>>\n<<disk added: sd0 (slices 0)>>\n");
}

// The creation of a sum is the sum of the creations.
TEST(IostatChanges, AControllerStaysWhenOneOfItsDisksIsCreatedAnew) {
    const Snapshot before{idle_device("c1", Kind::controller), idle_device("c1t0d0")};
    Snapshot now = before;
    now[0].crtime += 1;
    now[1].crtime += 1;
    EXPECT_EQ(changes(before, now), "<<disk removed: c1t0d0>>\n<<disk added: c1t0d0>>\n");
    Snapshot paths{idle_device("ssd0.t1", Kind::path)};
    paths[0].members = 2;
    Snapshot later = paths;
    later[0].crtime += 1;
    EXPECT_TRUE(same_devices(paths, later));
}

TEST(IostatChanges, AClientThatConnectsAnewIsNoChange) {
    Snapshot now{idle_device("nbd0"), idle_device("nbd0,client-1", Kind::client)};
    now[1].crtime += 1;
    EXPECT_TRUE(
        same_devices({idle_device("nbd0"), idle_device("nbd0,client-1", Kind::client)}, now));
}

TEST(IostatChanges, TheSameNameInAnotherModuleIsAnotherDevice) {
    Snapshot now{idle_device("sd0")};
    now[0].module = "other";
    EXPECT_FALSE(same_devices({idle_device("sd0")}, now));
}

}  // namespace
}  // namespace blkscope::iostat
