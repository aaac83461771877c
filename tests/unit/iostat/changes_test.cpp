#include "iostat/changes.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

TEST(IostatChanges, EachKindHasItsWords) {
    const Snapshot all{idle_device("sd0"), idle_device("sd1,b", Kind::partition),
                       idle_device("st0", Kind::tape), idle_device("nfs1", Kind::nfs)};
    EXPECT_EQ(change_lines({}, all),
              "<<disk added: sd0>>\n<<partition added: sd1,b>>\n<<device added: st0>>\n"
              "<<NFS mounted: nfs1>>\n");
    EXPECT_EQ(change_lines(all, {}),
              "<<disk removed: sd0>>\n<<partition removed: sd1,b>>\n<<device removed: st0>>\n"
              "<<NFS unmounted: nfs1>>\n");
}

TEST(IostatChanges, PartitionsThatComeWithTheirDiskAreNamedInItsLine) {
    const Snapshot disk{idle_device("sd1"), idle_device("sd1,a", Kind::partition),
                        idle_device("sd1,b", Kind::partition),
                        idle_device("sd1,efi", Kind::partition),
                        idle_device("sd10,a", Kind::partition)};
    EXPECT_EQ(change_lines({}, disk),
              "<<disk added: sd1 (slices 0, 1, efi)>>\n<<partition added: sd10,a>>\n");
}

TEST(IostatChanges, APartitionOfADiskThatStayedHasItsOwnLine) {
    const Snapshot before{idle_device("sd0")};
    const Snapshot now{idle_device("sd0"), idle_device("sd0,a", Kind::partition)};
    EXPECT_EQ(change_lines(before, now), "<<partition added: sd0,a>>\n");
}

TEST(IostatChanges, ADeviceCreatedAnewIsNoChange) {
    Snapshot now{idle_device("sd0")};
    now[0].crtime += 1;
    EXPECT_TRUE(same_devices({idle_device("sd0")}, now));
    EXPECT_EQ(change_lines({idle_device("sd0")}, now), "");
}

TEST(IostatChanges, TheSameNameInAnotherModuleIsAnotherDevice) {
    Snapshot now{idle_device("sd0")};
    now[0].module = "other";
    EXPECT_FALSE(same_devices({idle_device("sd0")}, now));
}

}  // namespace
}  // namespace blkscope::iostat
