#include "tools/iostat/snapshot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

using Names = std::vector<std::string>;

Options extended_options() {
    Options options;
    options.mode = Mode::extended;
    return options;
}

Names selected(const Names& candidates, const Options& options) {
    return names_of(select(idle_devices(candidates), options));
}

TEST(IostatOrder, InstancesCompareAsNumbers) {
    EXPECT_EQ(selected({"sd10", "sd2", "ssd1", "nbd3"}, extended_options()),
              (Names{"nbd3", "sd2", "sd10", "ssd1"}));
}

TEST(IostatOrder, ADiskComesBeforeItsPartitions) {
    Options options = extended_options();
    options.partitions = true;
    EXPECT_EQ(selected({"sd1", "sd0,b", "sd0", "sd10,a", "sd0,a"}, options),
              (Names{"sd0", "sd0,a", "sd0,b", "sd1", "sd10,a"}));
}

TEST(IostatOrder, ClientsComeBehindTheirDiskAndOnlyIfAskedFor) {
    const Snapshot devices{idle_device("nbd0,client-10", Kind::client), idle_device("nbd1"),
                           idle_device("nbd0,client-other", Kind::client),
                           idle_device("nbd0,client-2", Kind::client), idle_device("nbd0")};
    Options options = extended_options();
    EXPECT_EQ(names_of(select(devices, options)), (Names{"nbd0", "nbd1"}));
    options.clients = true;
    EXPECT_EQ(names_of(select(devices, options)),
              (Names{"nbd0", "nbd0,client-2", "nbd0,client-10", "nbd0,client-other", "nbd1"}));
}

TEST(IostatOrder, ClosedClientsHaveNoRates) {
    EXPECT_TRUE(is_of_closed_clients(idle_device("nbd0,client-gone", Kind::client)));
    EXPECT_FALSE(is_of_closed_clients(idle_device("nbd0,client-1", Kind::client)));
    EXPECT_FALSE(is_of_closed_clients(idle_device("nbd0,client-gone")));
}

TEST(IostatOrder, TapesComeAfterDisksAndMountsAfterTapes) {
    const Snapshot snapshot =
        select({idle_device("nfs1", Kind::nfs), idle_device("a0", Kind::tape), idle_device("sd0")},
               extended_options());
    EXPECT_EQ(names_of(snapshot), (Names{"sd0", "a0", "nfs1"}));
}

TEST(IostatOrder, AnyNameHasItsPlace) {
    EXPECT_EQ(
        selected({"9", "x", "", "18446744073709551617a", "18446744073709551616b", "a-1", "01", "1"},
                 extended_options()),
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

TEST(IostatSelection, PathsAreShownOnRequest) {
    const std::vector<Device> all{idle_device("a0.t1.fp0", Kind::path), idle_device("sd0"),
                                  idle_device("nfs1", Kind::nfs)};
    EXPECT_EQ(names_of(select(all, extended_options())), (Names{"sd0", "nfs1"}));
    Options options = extended_options();
    options.paths = Paths::by_initiator;
    EXPECT_EQ(names_of(select(all, options)), (Names{"a0.fp0", "sd0", "nfs1"}));
}

TEST(IostatSelection, AControllerStandsBeforeWhatHangsOnIt) {
    Options options = extended_options();
    options.controllers = true;
    EXPECT_EQ(selected({"sd0", "c10t0d0", "c2t1d0", "c2t0d0"}, options),
              (Names{"c2", "c2t0d0", "c2t1d0", "c10", "c10t0d0", "sd0"}));
}

TEST(IostatSelection, PartitionsAreShownOnRequestAndDisksUnlessOnlyPartitionsAre) {
    const std::vector<Device> all{idle_device("sd0"), idle_device("sd0,a", Kind::partition),
                                  idle_device("st0", Kind::tape)};
    Options options = extended_options();
    EXPECT_EQ(names_of(select(all, options)), (Names{"sd0", "st0"}));
    options.partitions = true;
    EXPECT_EQ(names_of(select(all, options)), (Names{"sd0", "sd0,a", "st0"}));
    options.disks = false;
    EXPECT_EQ(names_of(select(all, options)), (Names{"sd0,a", "st0"}));
}

TEST(IostatSelection, AHorizontalReportHasFourPlacesAndNoneForFloppies) {
    const Names all{"fd0", "sd0", "sd1", "sd2", "sd3", "sd4"};
    EXPECT_EQ(selected(all, {}), (Names{"sd0", "sd1", "sd2", "sd3"}));
    EXPECT_EQ(selected(all, extended_options()), all);
}

TEST(IostatSelection, ALimitHoldsInEveryMode) {
    Options options = extended_options();
    options.limit = 2;
    EXPECT_EQ(selected({"sd2", "sd1", "sd0"}, options), (Names{"sd0", "sd1"}));
    options.mode = Mode::transfers;
    options.limit = 5;
    EXPECT_EQ(selected({"sd4", "sd3", "sd2", "sd1", "sd0"}, options).size(), 5u);
}

TEST(IostatSelection, AnExtendedReportShowsTheDevicesNamedAndNoOther) {
    Options options = extended_options();
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
    Options options = extended_options();
    options.devices = {"sd0.t", "sd1.t"};
    EXPECT_EQ(selected({"sd0.t1", "sd0", "sd1.t7", "sd2.t1"}, options),
              (Names{"sd0.t1", "sd1.t7"}));
}

class IostatPaths : public testing::Test {
  protected:
    IostatPaths() { options.paths = Paths::by_initiator; }

    [[nodiscard]] Names shown(const std::vector<std::string>& devices) {
        options.devices = devices;
        return names_of(select(all, options));
    }

    const std::vector<Device> all{idle_device("sd0"),
                                  idle_device("sd1"),
                                  idle_device("sd10"),
                                  idle_device("sd0.t1.fp0", Kind::path),
                                  idle_device("sd0.t2.fp0", Kind::path),
                                  idle_device("sd1.t1.fp1", Kind::path),
                                  idle_device("sd10.t1.fp0", Kind::path)};
    Options options = extended_options();
};

TEST_F(IostatPaths, ADiskAskedForBringsItsPaths) {
    EXPECT_EQ(shown({"sd0"}), (Names{"sd0", "sd0.fp0"}));
    EXPECT_EQ(shown({"sd1"}), (Names{"sd1", "sd1.fp1"}));
    options.paths = Paths::by_target;
    EXPECT_EQ(shown({"sd1"}), (Names{"sd1", "sd1.t1", "sd1.t1.fp1"}));
}

TEST_F(IostatPaths, AnOperandWithADotIsAPrefixOfFullNames) {
    EXPECT_EQ(shown({"sd1.t"}), (Names{"sd1.fp1"}));
    EXPECT_EQ(shown({"sd10.", "sd1.t1"}), (Names{"sd1.fp1", "sd10.fp0"}));
    EXPECT_EQ(shown({"sd1.fp1"}), Names{});
    EXPECT_EQ(select(all, options).size(), 0u);
}

TEST_F(IostatPaths, OnePrefixIsOnePlace) {
    options.paths = Paths::by_target;
    EXPECT_EQ(shown({"sd0."}), (Names{"sd0.t1", "sd0.t1.fp0"}));
    EXPECT_EQ(shown({"sd0.", "sd0.t2"}), (Names{"sd0.t1", "sd0.t1.fp0", "sd0.t2", "sd0.t2.fp0"}));
}

TEST_F(IostatPaths, PathsOfADiskNeedNoPlaces) {
    options.limit = 2;
    EXPECT_EQ(shown({}), (Names{"sd0", "sd0.fp0", "sd1", "sd1.fp1"}));
    // A place that is left goes to the next device in order, which may be a path.
    EXPECT_EQ(shown({"sd1"}), (Names{"sd0", "sd1", "sd1.fp1"}));
    options.limit = 3;
    EXPECT_EQ(shown({"sd1"}), (Names{"sd0", "sd0.fp0", "sd1", "sd1.fp1"}));
}

TEST_F(IostatPaths, EachIsBehindItsDiskAndBeforeTapesAndMounts) {
    const std::vector<Device> candidates{idle_device("nfs1", Kind::nfs),
                                         idle_device("st0", Kind::tape),
                                         idle_device("ssd1"),
                                         idle_device("ssd1,a", Kind::partition),
                                         idle_device("ssd2"),
                                         idle_device("ssd2.t1.fp0", Kind::path),
                                         idle_device("ssd1.t10.fp0", Kind::path),
                                         idle_device("ssd1.t9.fp1", Kind::path),
                                         idle_device("ssd1.t9.fp0", Kind::path)};
    options.partitions = true;
    EXPECT_EQ(names_of(select(candidates, options)),
              (Names{"ssd1", "ssd1,a", "ssd1.fp0", "ssd1.fp1", "ssd2", "ssd2.fp0", "st0", "nfs1"}));
    options.paths = Paths::by_target;
    EXPECT_EQ(names_of(select(candidates, options)),
              (Names{"ssd1", "ssd1,a", "ssd1.t9", "ssd1.t9.fp0", "ssd1.t9.fp1", "ssd1.t10",
                     "ssd1.t10.fp0", "ssd2", "ssd2.t1", "ssd2.t1.fp0", "st0", "nfs1"}));
}

TEST_F(IostatPaths, ASumHasThePlaceOfItsFirstPath) {
    EXPECT_EQ(names_of(select({idle_device("sd0"), idle_device("sd0.t1.fp1", Kind::path),
                               idle_device("sd0.t2.fp0", Kind::path)},
                              options)),
              (Names{"sd0", "sd0.fp1", "sd0.fp0"}));
}

TEST_F(IostatPaths, ThePlaceOfAMissingDeviceStaysEmpty) {
    EXPECT_EQ(shown({"sd1", "nosuch"}), (Names{"sd1", "sd1.fp1"}));
    EXPECT_EQ(shown({"nosuch"}), Names{});
    options.limit = 2;
    EXPECT_EQ(shown({"sd1", "nosuch"}), (Names{"sd0", "sd1", "sd1.fp1"}));
}

// The original's choice, step by step, but that without a limit the place of a device that is missing
// stays empty. `devices` are in order, each path behind its disk.
Names chosen_by_original(std::list<std::string> devices, const Options& options) {
    constexpr size_t no_limit = 1'000;
    const size_t operands = options.devices.size();
    size_t left = options.limit ? static_cast<size_t>(*options.limit) : no_limit;
    if (operands > 0) left = left == no_limit ? operands : std::max(left, operands);
    const size_t all = left;
    const auto is_asked_for = [&](const std::string& name) {
        return operands == 0 ||
               std::ranges::any_of(options.devices, [&](const std::string& operand) {
                   const bool prefix = operand.find('.') != std::string::npos;
                   return name == operand || (prefix && name.starts_with(operand));
               });
    };
    Names chosen;
    const auto take_all = [&](const auto& is_wanted) {
        for (auto at = devices.begin(); at != devices.end();) {
            const bool wanted = is_wanted(*at);
            if (wanted) chosen.push_back(*at);
            at = wanted ? devices.erase(at) : std::next(at);
        }
    };
    while (left > 0) {
        const auto found = std::ranges::find_if(devices, is_asked_for);
        if (found == devices.end()) break;
        const std::string name = *found;
        chosen.push_back(name);
        devices.erase(found);
        if (name.find('.') == std::string::npos) {
            take_all([&](const std::string& other) { return other.starts_with(name + "."); });
        }
        --left;
    }
    if (options.limit && (operands == 0 || left != all)) {
        for (; left > 0 && !devices.empty(); --left) {
            chosen.push_back(devices.front());
            devices.pop_front();
        }
    }
    std::ranges::sort(chosen);
    return chosen;
}

TEST_F(IostatPaths, TheChoiceIsTheOriginals) {
    const std::list<std::string> in_order{"sd0",        "sd0.t1.fp0", "sd0.t2.fp0", "sd1",
                                          "sd1.t1.fp1", "sd10",       "sd10.t1.fp0"};
    const Names operands{"sd0", "sd1", "sd10", "sd0.", "sd0.t1", "sd1.t1.fp1", "sd10.t2", "nosuch"};
    options.paths = Paths::by_target;
    std::mt19937 random(20261123);
    for (int i = 0; i < 5'000; ++i) {
        options.limit =
            random() % 2 == 0 ? std::optional<int>() : 1 + static_cast<int>(random() % 8);
        options.devices.clear();
        for (auto count = random() % 4; count > 0; --count) {
            options.devices.push_back(operands[random() % operands.size()]);
        }
        Names names = names_of(select(all, options));
        std::erase_if(names, [](const std::string& name) {  // sums over initiators
            return std::ranges::count(name, '.') == 1;
        });
        std::ranges::sort(names);
        ASSERT_EQ(names, chosen_by_original(in_order, options)) << i;
    }
}

TEST(IostatSelection, AFloppyAskedForIsShown) {
    Options options;
    options.devices = {"fd0"};
    EXPECT_EQ(selected({"fd0", "fd1"}, options), Names{"fd0"});
}

TEST(IostatNames, ANameMayHaveTheProvider) {
    EXPECT_TRUE(is_name_of("nbd0", "nbd0", 12));
    EXPECT_TRUE(is_name_of("nbd0@12", "nbd0", 12));
    EXPECT_FALSE(is_name_of("nbd0@34", "nbd0", 12));
    EXPECT_FALSE(is_name_of("nbd0@", "nbd0", 12));
    EXPECT_FALSE(is_name_of("", "nbd0", 12));
    EXPECT_TRUE(is_name_of("nbd0@12,client-1", "nbd0,client-1", 12));
    EXPECT_FALSE(is_name_of("sd0@0", "sd0", 0));  // a disk of this machine
}

}  // namespace
}  // namespace blkscope::iostat
