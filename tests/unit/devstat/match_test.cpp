#include <devstat.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>

namespace blkscope {
namespace {

/// The matches of one caller.
struct Matches {
    Matches() = default;
    ~Matches() { std::free(list); }
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;

    int build(std::string text) { return devstat_buildmatch(text.data(), &list, &count); }

    devstat_match* list = nullptr;
    int count = 0;
};

struct Case {
    const char* text;
    int fields;
    int type;
    int categories;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << '"' << c.text << '"';
}

class DevstatMatch : public testing::TestWithParam<Case> {};

constexpr int type_field = DEVSTAT_MATCH_TYPE;
constexpr int if_field = DEVSTAT_MATCH_IF;
constexpr int pass_field = DEVSTAT_MATCH_PASS;

TEST_P(DevstatMatch, AsksForWhatItsTextSays) {
    const Case& expected = GetParam();
    Matches matches;
    ASSERT_EQ(matches.build(expected.text), 0) << devstat_errbuf;
    ASSERT_EQ(matches.count, 1);
    EXPECT_EQ(matches.list[0].match_fields, expected.fields);
    EXPECT_EQ(matches.list[0].device_type, expected.type);
    EXPECT_EQ(matches.list[0].num_match_categories, expected.categories);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, DevstatMatch,
    testing::Values(Case{"da", type_field, DEVSTAT_TYPE_DIRECT, 1}, Case{"cd", type_field, 5, 1},
                    Case{"worm", type_field, 4, 1}, Case{"sa", type_field, 1, 1},
                    Case{"optical", type_field, 7, 1}, Case{"array", type_field, 0xc, 1},
                    Case{"changer", type_field, 8, 1}, Case{"scanner", type_field, 6, 1},
                    Case{"printer", type_field, 2, 1}, Case{"floppy", type_field, 0xe, 1},
                    Case{"proc", type_field, 3, 1}, Case{"comm", type_field, 9, 1},
                    Case{"enclosure", type_field, 0xd, 1}, Case{"scsi", if_field, 0x10, 1},
                    Case{"ide", if_field, 0x20, 1}, Case{"other", if_field, 0x30, 1},
                    Case{"nvme", if_field, 0x40, 1},
                    Case{"da,NVMe", type_field | if_field, 0x40, 2},
                    Case{"pass", pass_field, 0x100, 1}, Case{"passthrough", pass_field, 0x100, 1},
                    // A keyword may be the beginning of a longer word.
                    Case{"dasd", type_field, 0, 1}, Case{"cdrom", type_field, 5, 1},
                    Case{"SCSI-2", if_field, 0x10, 1}, Case{"processor", type_field, 3, 1},
                    Case{"IDE", if_field, 0x20, 1}, Case{" \tcd  ", type_field, 5, 1},
                    Case{"da,scsi", type_field | if_field, 0x10, 2},
                    Case{"cd,ide,pass", type_field | if_field | pass_field, 0x125, 3},
                    Case{"pass , cd , scsi", type_field | if_field | pass_field, 0x115, 3},
                    Case{",,da,,scsi,,", type_field | if_field, 0x10, 2}, Case{"", 0, 0, 0},
                    Case{",", 0, 0, 0}));

struct Wrong {
    const char* text;
    const char* error;
};

std::ostream& operator<<(std::ostream& out, const Wrong& w) {
    return out << '"' << w.text << '"';
}

class DevstatMatchRefuses : public testing::TestWithParam<Wrong> {};

TEST_P(DevstatMatchRefuses, AndSaysWhy) {
    Matches matches;
    ASSERT_EQ(matches.build("da"), 0);
    EXPECT_EQ(matches.build(GetParam().text), -1);
    EXPECT_EQ(std::string(devstat_errbuf), std::string("devstat_buildmatch: ") + GetParam().error);
    EXPECT_EQ(matches.count, 1);
    EXPECT_EQ(matches.list[0].match_fields, DEVSTAT_MATCH_TYPE);
}

constexpr auto twice = "cannot have more than one match item in a single category";

INSTANTIATE_TEST_SUITE_P(Texts, DevstatMatchRefuses,
                         testing::Values(Wrong{"d", "unknown match item \"d\""},
                                         Wrong{"disk", "unknown match item \"disk\""},
                                         Wrong{"da, tape ", "unknown match item \" tape\""},
                                         Wrong{"  ", "unknown match item \"  \""},
                                         Wrong{"da,cd", twice}, Wrong{"scsi,ide", twice},
                                         Wrong{"pass,pass", twice},
                                         Wrong{"da,scsi,pass,cd", "too many type arguments"}));

TEST(DevstatBuildmatch, RefusesNoText) {
    devstat_match* list = nullptr;
    int count = 0;
    EXPECT_EQ(devstat_buildmatch(nullptr, &list, &count), -1);
    EXPECT_STREQ(devstat_errbuf, "devstat_buildmatch: no match expression");
}

TEST(DevstatBuildmatch, DoesNotLookAtTheListWhereItIsEmpty) {
    std::string text = "da";
    auto* list = reinterpret_cast<devstat_match*>(0x10);  // as a caller's uninitialised variable
    int count = 0;
    ASSERT_EQ(devstat_buildmatch(text.data(), &list, &count), 0);
    EXPECT_EQ(count, 1);
    std::free(list);
}

TEST(DevstatBuildmatch, AddsToTheListAndKeepsWhatItHas) {
    Matches matches;
    for (int i = 0; i < 20; ++i) ASSERT_EQ(matches.build(i % 2 == 0 ? "da" : "ide"), 0);
    ASSERT_EQ(matches.count, 20);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(matches.list[i].match_fields, i % 2 == 0 ? DEVSTAT_MATCH_TYPE : DEVSTAT_MATCH_IF);
    }
}

}  // namespace
}  // namespace blkscope
