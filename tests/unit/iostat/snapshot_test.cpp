#include "tools/iostat/snapshot.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

using Names = std::vector<std::string>;

Options extended() {
    Options options;
    options.mode = Mode::extended;
    return options;
}

Names selected(const Names& candidates, const Options& options) {
    return names_of(select(idle_devices(candidates), options));
}

TEST(IostatOrder, InstancesCompareAsNumbers) {
    EXPECT_EQ(selected({"sd10", "sd2", "ssd1", "nbd3"}, extended()),
              (Names{"nbd3", "sd2", "sd10", "ssd1"}));
}

TEST(IostatOrder, ADiskComesBeforeItsPartitions) {
    Options options = extended();
    options.partitions = true;
    EXPECT_EQ(selected({"sd1", "sd0,b", "sd0", "sd10,a", "sd0,a"}, options),
              (Names{"sd0", "sd0,a", "sd0,b", "sd1", "sd10,a"}));
}

TEST(IostatOrder, TapesComeAfterDisksAndMountsAfterTapes) {
    const Snapshot snapshot =
        select({idle_device("nfs1", Kind::nfs), idle_device("a0", Kind::tape), idle_device("sd0")},
               extended());
    EXPECT_EQ(names_of(snapshot), (Names{"sd0", "a0", "nfs1"}));
}

TEST(IostatOrder, AnyNameHasItsPlace) {
    EXPECT_EQ(
        selected({"9", "x", "", "18446744073709551617a", "18446744073709551616b", "a-1", "01", "1"},
                 extended()),
        (Names{"", "01", "1", "9", "18446744073709551616b", "18446744073709551617a", "a-1", "x"}));
}

TEST(IostatSelection, OnlyTheClassesOfDevicesCount) {
    EXPECT_EQ(kind_of("disk"), Kind::disk);
    EXPECT_EQ(kind_of("partition"), Kind::partition);
    EXPECT_EQ(kind_of("tape"), Kind::tape);
    EXPECT_EQ(kind_of("nfs"), Kind::nfs);
    EXPECT_EQ(kind_of("iopath"), Kind::path);
    for (const char* other : {"disks", "dis", "misc", "controller", ""}) {
        EXPECT_FALSE(kind_of(other).has_value()) << other;
    }
}

TEST(IostatSelection, AClassAndItsKindAreOneToOne) {
    for (const char* name : {"disk", "partition", "tape", "nfs", "iopath"}) {
        EXPECT_EQ(class_of(*kind_of(name)), name);
    }
    EXPECT_EQ(class_of(Kind::controller), "controller");
}

TEST(IostatSelection, PathsAreShownOnRequestAndLast) {
    const std::vector<Device> all{idle_device("a0.t1.fp0", Kind::path), idle_device("sd0"),
                                  idle_device("nfs1", Kind::nfs)};
    EXPECT_EQ(names_of(select(all, extended())), (Names{"sd0", "nfs1"}));
    Options options = extended();
    options.paths = Paths::by_initiator;
    EXPECT_EQ(names_of(select(all, options)), (Names{"sd0", "nfs1", "a0.fp0"}));
}

TEST(IostatSelection, AControllerStandsBeforeWhatHangsOnIt) {
    Options options = extended();
    options.controllers = true;
    EXPECT_EQ(selected({"sd0", "c10t0d0", "c2t1d0", "c2t0d0"}, options),
              (Names{"c2", "c2t0d0", "c2t1d0", "c10", "c10t0d0", "sd0"}));
}

TEST(IostatSelection, PartitionsAreShownOnRequestAndDisksUnlessOnlyPartitionsAre) {
    const std::vector<Device> all{idle_device("sd0"), idle_device("sd0,a", Kind::partition),
                                  idle_device("st0", Kind::tape)};
    Options options = extended();
    EXPECT_EQ(names_of(select(all, options)), (Names{"sd0", "st0"}));
    options.partitions = true;
    EXPECT_EQ(names_of(select(all, options)), (Names{"sd0", "sd0,a", "st0"}));
    options.disks = false;
    EXPECT_EQ(names_of(select(all, options)), (Names{"sd0,a", "st0"}));
}

TEST(IostatSelection, AHorizontalReportHasFourPlacesAndNoneForFloppies) {
    const Names all{"fd0", "sd0", "sd1", "sd2", "sd3", "sd4"};
    EXPECT_EQ(selected(all, {}), (Names{"sd0", "sd1", "sd2", "sd3"}));
    EXPECT_EQ(selected(all, extended()), all);
}

TEST(IostatSelection, ALimitHoldsInEveryMode) {
    Options options = extended();
    options.limit = 2;
    EXPECT_EQ(selected({"sd2", "sd1", "sd0"}, options), (Names{"sd0", "sd1"}));
    options.mode = Mode::transfers;
    options.limit = 5;
    EXPECT_EQ(selected({"sd4", "sd3", "sd2", "sd1", "sd0"}, options).size(), 5u);
}

TEST(IostatSelection, AnExtendedReportShowsTheDevicesNamedAndNoOther) {
    Options options = extended();
    options.devices = {"sd2", "sd0"};
    EXPECT_EQ(selected({"sd0", "sd1", "sd2"}, options), (Names{"sd0", "sd2"}));
    options.devices = {"sd0", "nosuch"};
    EXPECT_EQ(selected({"sd0", "sd1", "sd2"}, options), Names{"sd0"});
}

TEST(IostatSelection, AHorizontalReportFillsItsPlacesBehindTheDevicesNamed) {
    Options options;
    options.devices = {"sd9"};
    EXPECT_EQ(selected({"sd0", "sd1", "sd2", "sd3", "sd9"}, options),
              (Names{"sd0", "sd1", "sd2", "sd9"}));
}

TEST(IostatSelection, MoreNamesThanPlacesMakePlaces) {
    Options options;
    options.limit = 1;
    options.devices = {"sd3", "sd4"};
    EXPECT_EQ(selected({"sd0", "sd3", "sd4"}, options), (Names{"sd3", "sd4"}));
}

TEST(IostatSelection, IfNoNameMatchesNothingIsShown) {
    Options options;
    options.devices = {"nosuch", "sd"};
    EXPECT_EQ(selected({"sd0", "sd1"}, options), Names{});
}

TEST(IostatSelection, AnOperandWithADotMatchesAsAPrefix) {
    Options options = extended();
    options.devices = {"sd0.t", "sd1.t"};
    EXPECT_EQ(selected({"sd0.t1", "sd0", "sd1.t7", "sd2.t1"}, options),
              (Names{"sd0.t1", "sd1.t7"}));
}

TEST(IostatSelection, AFloppyAskedForIsShown) {
    Options options;
    options.devices = {"fd0"};
    EXPECT_EQ(selected({"fd0", "fd1"}, options), Names{"fd0"});
}

}  // namespace
}  // namespace blkscope::iostat
