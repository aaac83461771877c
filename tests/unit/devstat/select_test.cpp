#include <devstat.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace blkscope {
namespace {

using Devstat = struct devstat;
using Ranks = std::vector<int>;
using Names = std::vector<std::string>;

constexpr auto scsi_disk =
    static_cast<devstat_type_flags>(DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_SCSI);
constexpr auto ide_cd = static_cast<devstat_type_flags>(DEVSTAT_TYPE_CDROM | DEVSTAT_TYPE_IF_IDE);
constexpr auto pass_disk = static_cast<devstat_type_flags>(scsi_disk | DEVSTAT_TYPE_PASS);

class DevstatSelect : public testing::Test {
  protected:
    ~DevstatSelect() override {
        std::free(list_);
        std::free(matches_);
    }

    // vbd0 ... and numbers from 0, all SCSI disks.
    void make(int count) {
        devices_.clear();
        for (int i = 0; i < count; ++i) add("vbd", i, scsi_disk);
    }

    void add(const char* name, int unit, devstat_type_flags type) {
        Devstat device{};
        std::strcpy(device.device_name, name);
        device.unit_number = unit;
        device.device_number = next_number_++;
        device.device_type = type;
        devices_.push_back(device);
    }

    void match(std::string text) {
        ASSERT_EQ(devstat_buildmatch(text.data(), &matches_, &num_matches_), 0);
    }

    void no_matches() {
        std::free(matches_);
        matches_ = nullptr;
        num_matches_ = 0;
    }

    int select(devstat_select_mode mode, Names names = {}, int maxshow = 10, int perf = 0) {
        std::vector<char*> pointers;
        for (std::string& name : names) pointers.push_back(name.data());
        Devstat none{};
        return devstat_selectdevs(
            &list_, &selected_, &selections_, &list_generation_, generation_,
            devices_.empty() ? &none : devices_.data(), static_cast<int>(devices_.size()), matches_,
            num_matches_, pointers.data(), static_cast<int>(pointers.size()), mode, maxshow, perf);
    }

    // Each entry's rank, in the order of the list.
    [[nodiscard]] Ranks ranks() const {
        Ranks ranks;
        for (int i = 0; i < selections_; ++i) ranks.push_back(list_[i].selected);
        return ranks;
    }

    [[nodiscard]] std::vector<int> units() const {
        std::vector<int> units;
        for (int i = 0; i < selections_; ++i) units.push_back(list_[i].unit_number);
        return units;
    }

    device_selection* list_ = nullptr;
    // As an iostat leaves them at the first call.
    int selected_ = 0x5a5a5a5a;
    int selections_ = 0x5a5a5a5a;
    long list_generation_ = 0x5a5a5a5a5a5a5a5a;
    long generation_ = 1;
    std::vector<Devstat> devices_;
    devstat_match* matches_ = nullptr;
    int num_matches_ = 0;
    uint32_t next_number_ = 0;
};

TEST_F(DevstatSelect, AddSelectsEveryDeviceInTheOrderOfTheList) {
    make(5);
    EXPECT_EQ(select(DS_SELECT_ADD, {}, 3), 1);
    EXPECT_EQ(ranks(), (Ranks{1, 2, 3, 4, 5}));  // clients show the ranks up to 3
    EXPECT_EQ(selected_, 5);
    EXPECT_EQ(list_generation_, 1);
    EXPECT_STREQ(list_[2].device_name, "vbd");
    EXPECT_EQ(list_[2].position, 2);
    EXPECT_EQ(select(DS_SELECT_ADD, {}, 3), 0);
}

TEST_F(DevstatSelect, NamesComeFirstAndInTheOrderOfTheList) {
    make(5);
    EXPECT_EQ(select(DS_SELECT_ADD, {"vbd3", "vbd1"}, 5), 1);
    EXPECT_EQ(ranks(), (Ranks{3, 1, 4, 2, 5}));
}

TEST_F(DevstatSelect, AddDoesNotFillUpWhatTheNamesFill) {
    make(4);
    EXPECT_EQ(select(DS_SELECT_ADD, {"vbd3", "vbd1"}, 2), 1);
    EXPECT_EQ(ranks(), (Ranks{0, 1, 0, 2}));
}

TEST_F(DevstatSelect, ANameMustBeWhole) {
    make(12);
    select(DS_SELECT_ONLY, {"vbd1", "vbd", "bd2", "vbd03"}, 5);
    EXPECT_EQ(ranks(), (Ranks{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(DevstatSelect, OnlyClearsWhatWasSelected) {
    make(4);
    select(DS_SELECT_ONLY, {"vbd0", "vbd1"});
    EXPECT_EQ(select(DS_SELECT_ONLY, {"vbd2", "vbd3"}), 1);  // as many, but others
    EXPECT_EQ(ranks(), (Ranks{0, 0, 1, 2}));
    EXPECT_EQ(selected_, 2);
    EXPECT_EQ(select(DS_SELECT_ONLY, {"vbd2", "vbd3"}), 0);
    EXPECT_EQ(select(DS_SELECT_ONLY, {}), 1);
    EXPECT_EQ(selected_, 0);
}

TEST_F(DevstatSelect, AddonlySelectsNothingElse) {
    make(4);
    EXPECT_EQ(select(DS_SELECT_ADDONLY, {"vbd2"}), 1);
    EXPECT_EQ(ranks(), (Ranks{0, 0, 1, 0}));
    EXPECT_EQ(select(DS_SELECT_ADDONLY, {"vbd2"}), 0);
    EXPECT_EQ(select(DS_SELECT_ADDONLY, {"vbd0"}), 1);
    EXPECT_EQ(ranks(), (Ranks{1, 0, 1, 0}));  // ranks start at 1 in each call
    EXPECT_EQ(selected_, 2);
}

TEST_F(DevstatSelect, RemoveDeselectsEveryDeviceThatIsNamed) {
    make(5);
    select(DS_SELECT_ADD);
    EXPECT_EQ(select(DS_SELECT_REMOVE, {"vbd1", "vbd4"}), 1);
    EXPECT_EQ(ranks(), (Ranks{1, 0, 3, 4, 0}));
    EXPECT_EQ(selected_, 3);
    EXPECT_EQ(select(DS_SELECT_REMOVE, {"vbd4", "vbd1"}), 0);
    EXPECT_EQ(selected_, 3);  // one that is not selected is not counted again
}

TEST_F(DevstatSelect, RemoveGoesByMatchesToo) {
    make(2);
    add("cd", 0, ide_cd);
    select(DS_SELECT_ADD);
    match("ide");
    EXPECT_EQ(select(DS_SELECT_REMOVE), 1);
    EXPECT_EQ(ranks(), (Ranks{1, 2, 0}));
}

TEST_F(DevstatSelect, AMatchSelectsWhatFitsIt) {
    add("da", 0, scsi_disk);
    add("cd", 0, ide_cd);
    add("pass", 0, pass_disk);
    const struct {
        const char* text;
        Ranks ranks;
    } cases[] = {{"da", {1, 0, 0}},        {"cd", {0, 1, 0}},           {"scsi", {1, 0, 0}},
                 {"ide", {0, 1, 0}},       {"pass", {0, 0, 1}},         {"da,pass", {0, 0, 1}},
                 {"scsi,pass", {0, 0, 1}}, {"da,scsi,pass", {0, 0, 1}}, {"cd,pass", {0, 0, 0}},
                 {"cd,scsi", {0, 0, 0}},   {"cd,ide", {0, 1, 0}},       {"", {0, 0, 0}},
                 {"sa", {0, 0, 0}}};
    for (const auto& c : cases) {
        no_matches();
        match(c.text);
        select(DS_SELECT_ONLY);
        EXPECT_EQ(ranks(), c.ranks) << c.text;
    }
}

TEST_F(DevstatSelect, MatchesAreAlternativesAndRankBehindTheNames) {
    add("da", 0, scsi_disk);
    add("cd", 0, ide_cd);
    add("da", 1, scsi_disk);
    match("ide");
    match("scsi");
    select(DS_SELECT_ONLY, {"da1"});
    EXPECT_EQ(ranks(), (Ranks{3, 2, 1}));
}

TEST_F(DevstatSelect, AMatchThatHasBegunGoesToTheEnd) {
    make(4);
    add("cd", 0, ide_cd);
    match("da");
    match("cd");
    select(DS_SELECT_ONLY, {}, 2);
    EXPECT_EQ(ranks(), (Ranks{1, 2, 3, 4, 0}));  // four of two; the second one is not begun
}

TEST_F(DevstatSelect, TheBusiestComeFirst) {
    make(4);
    EXPECT_EQ(select(DS_SELECT_ADD, {}, 2, 1), 1);
    EXPECT_EQ(selected_, 4);  // all, though two are shown
    const uint64_t bytes[] = {5, 40, 0, 7};
    for (int i = 0; i < 4; ++i) list_[i].bytes = bytes[i];
    EXPECT_EQ(select(DS_SELECT_ADD, {}, 2, 1), 1);
    EXPECT_EQ(units(), (std::vector<int>{1, 3, 0, 2}));
    EXPECT_EQ(ranks(), (Ranks{1, 2, 3, 4}));
    EXPECT_EQ(list_[0].position, 1);
    EXPECT_EQ(select(DS_SELECT_ADD, {}, 2, 1), 0);
}

TEST_F(DevstatSelect, TheBusiestAreThoseOfTheSelected) {
    make(4);
    select(DS_SELECT_ONLY, {"vbd0", "vbd2"}, 2, 1);
    for (int i = 0; i < 4; ++i) list_[i].bytes = static_cast<uint64_t>(list_[i].unit_number);
    EXPECT_EQ(select(DS_SELECT_ONLY, {"vbd0", "vbd2"}, 2, 1), 1);
    EXPECT_EQ(units(), (std::vector<int>{2, 0, 3, 1}));
    EXPECT_EQ(ranks(), (Ranks{1, 2, 0, 0}));
}

TEST_F(DevstatSelect, AMatchFindsADeviceWhereverTheListHasIt) {
    add("da", 0, scsi_disk);
    add("cd", 0, ide_cd);
    select(DS_SELECT_ADD, {}, 2, 1);
    list_[1].bytes = 9;
    select(DS_SELECT_ADD, {}, 2, 1);  // cd0 in front
    match("cd");
    select(DS_SELECT_ONLY);
    EXPECT_EQ(ranks(), (Ranks{1, 0}));
}

// A sort by bytes changes the order of the list, and not the order in which a match ranks.
TEST_F(DevstatSelect, AMatchRanksInTheOrderOfTheDevicesAfterASortToo) {
    make(3);
    select(DS_SELECT_ADD, {}, 3, 1);
    for (int i = 0; i < 3; ++i) list_[i].bytes = static_cast<uint64_t>(i);
    select(DS_SELECT_ADD, {}, 3, 1);
    ASSERT_EQ(units(), (std::vector<int>{2, 1, 0}));
    match("da");
    select(DS_SELECT_ONLY);
    EXPECT_EQ(units(), (std::vector<int>{2, 1, 0}));
    EXPECT_EQ(ranks(), (Ranks{3, 2, 1}));
}

// A match that a program has made by hand: more fields than categories.
TEST_F(DevstatSelect, AMatchNeedsNoMoreCategoriesThanItAsksFor) {
    make(1);
    devstat_match any{static_cast<devstat_match_flags>(DEVSTAT_MATCH_TYPE | DEVSTAT_MATCH_IF),
                      scsi_disk, 1};
    matches_ = static_cast<devstat_match*>(std::malloc(sizeof any));
    *matches_ = any;
    num_matches_ = 1;
    select(DS_SELECT_ONLY);
    EXPECT_EQ(ranks(), (Ranks{1}));
}

// The name of a provider may fill its field.
TEST_F(DevstatSelect, ANameWithoutItsNulIsCut) {
    make(1);
    std::memset(devices_[0].device_name, 'x', sizeof devices_[0].device_name);
    select(DS_SELECT_ONLY, {std::string(15, 'x') + "0"});
    EXPECT_EQ(ranks(), (Ranks{1}));
    EXPECT_EQ(std::strlen(list_[0].device_name), 15u);
}

TEST_F(DevstatSelect, ANewGenerationDropsTheSelection) {
    make(3);
    select(DS_SELECT_ONLY, {"vbd1"});
    generation_ = 2;
    EXPECT_EQ(select(DS_SELECT_ONLY, {"vbd1"}), 0);  // the same one again
    EXPECT_EQ(list_generation_, 2);
    generation_ = 3;
    EXPECT_EQ(select(DS_SELECT_ADDONLY, {}), 1);
    EXPECT_EQ(selected_, 0);
    select(DS_SELECT_ADDONLY, {"vbd0"});
    generation_ = 1;  // a lower one means nothing
    EXPECT_EQ(select(DS_SELECT_ADDONLY, {}), 0);
    EXPECT_EQ(selected_, 1);
    EXPECT_EQ(list_generation_, 3);
}

TEST_F(DevstatSelect, AnotherDeviceWithTheSameRankIsAChange) {
    make(2);
    select(DS_SELECT_ADD);
    devices_.pop_back();
    add("vbd", 7, scsi_disk);
    generation_ = 2;
    EXPECT_EQ(select(DS_SELECT_ADD), 1);
    EXPECT_EQ(units(), (std::vector<int>{0, 7}));
}

TEST_F(DevstatSelect, TheListGrowsAndShrinksWithTheDevices) {
    make(40);
    select(DS_SELECT_ADD, {}, 100);
    devices_.resize(3);
    EXPECT_EQ(select(DS_SELECT_ADD, {}, 100), 1);  // the number alone is enough
    EXPECT_EQ(ranks(), (Ranks{1, 2, 3}));
    for (int i = 10; i < 60; ++i) add("vbd", i, scsi_disk);
    EXPECT_EQ(select(DS_SELECT_ADD, {}, 100), 1);
    EXPECT_EQ(selections_, 53);
    devices_.clear();
    EXPECT_EQ(select(DS_SELECT_ADD, {}, 100), 1);
    EXPECT_EQ(selections_, 0);
    EXPECT_EQ(select(DS_SELECT_ADD, {}, 100, 1), 0);
}

TEST_F(DevstatSelect, NoDevicesAreNoFailure) {
    EXPECT_EQ(select(DS_SELECT_ADD), 1);
    EXPECT_NE(list_, nullptr);
    EXPECT_EQ(selected_, 0);
    EXPECT_EQ(selections_, 0);
}

TEST_F(DevstatSelect, WithoutAListOrDevicesItFails) {
    make(1);
    EXPECT_EQ(devstat_selectdevs(nullptr, &selected_, &selections_, &list_generation_, 1,
                                 devices_.data(), 1, nullptr, 0, nullptr, 0, DS_SELECT_ADD, 1, 0),
              -1);
    for (const int count : {1, -1}) {
        EXPECT_EQ(devstat_selectdevs(&list_, &selected_, &selections_, &list_generation_, 1,
                                     count > 0 ? nullptr : devices_.data(), count, nullptr, 0,
                                     nullptr, 0, DS_SELECT_ADD, 1, 0),
                  -1);
    }
    EXPECT_EQ(list_, nullptr);
}

}  // namespace
}  // namespace blkscope
