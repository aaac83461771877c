#include "tools/kstat/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace blkscope::kstat_command {
namespace {

kstat_t header(const char* module, const char* name, uchar_t type) {
    kstat_t ksp{};
    std::strncpy(ksp.ks_module, module, sizeof(ksp.ks_module) - 1);
    std::strncpy(ksp.ks_name, name, sizeof(ksp.ks_name) - 1);
    ksp.ks_type = type;
    return ksp;
}

TEST(KstatSelect, TheFrameworksOwnAndUnknownRawKstatsAreNotShown) {
    EXPECT_FALSE(is_shown(header("unix", "kstat_types", KSTAT_TYPE_NAMED)));
    EXPECT_FALSE(is_shown(header("any", "kstat_", KSTAT_TYPE_IO)));
    EXPECT_TRUE(is_shown(header("any", "kstat", KSTAT_TYPE_IO)));
    EXPECT_FALSE(is_shown(header("any", "raw", KSTAT_TYPE_RAW)));
    EXPECT_TRUE(is_shown(header("unix", "vminfo", KSTAT_TYPE_RAW)));
    EXPECT_TRUE(is_shown(header("any", "named", KSTAT_TYPE_NAMED)));
}

TEST(KstatSelect, AKstatHasToMatchTheClassAndASelectorInEveryField) {
    const Reading kstat{.module = "nbd", .instance = 12, .name = "nbd12", .kstat_class = "disk"};
    const auto asked = [&](const char* kstat_class, const char* operand) {
        Options options;
        options.kstat_class = Pattern(kstat_class);
        options.selectors = {parse_selector("nothing"), parse_selector(operand)};
        return wanted(kstat, options);
    };
    EXPECT_TRUE(asked("*", "nbd:12:nbd12"));
    EXPECT_TRUE(asked("disk", ":1?"));
    EXPECT_FALSE(asked("misc", "nbd"));
    EXPECT_FALSE(asked("*", "nb"));
    EXPECT_FALSE(asked("*", ":1"));
    EXPECT_FALSE(asked("*", "::nbd1"));
    EXPECT_TRUE(asked("*", ":::no_statistic_matters_here"));
}

TEST(KstatSelect, TheOrderIsModuleInstanceNameWhateverTheCase) {
    std::vector<Reading> kstats;
    const auto add = [&](const char* module, int instance, const char* name) {
        kstats.push_back({.module = module, .instance = instance, .name = name});
    };
    add("b", 0, "x");
    add("A", 10, "x");
    add("A", 9, "y");
    add("A", 9, "X");
    add("a", -1, "x");
    add("C", 0, "x");
    add("ab", 0, "x");
    std::ranges::sort(kstats, shown_before);
    std::string order;
    for (const Reading& k : kstats) {
        order += k.module + ":" + std::to_string(k.instance) + ":" + k.name + " ";
    }
    EXPECT_EQ(order, "a:-1:x A:9:X A:9:y A:10:x ab:0:x b:0:x C:0:x ");
}

TEST(KstatSelect, NamesThatDifferInCaseOnlyAreEqual) {
    EXPECT_FALSE(name_before("A", "a"));
    EXPECT_FALSE(name_before("a", "A"));
    EXPECT_FALSE(shown_before({.module = "A", .name = "x"}, {.module = "a", .name = "X"}));
    EXPECT_FALSE(shown_before({.module = "a", .name = "X"}, {.module = "A", .name = "x"}));
    EXPECT_FALSE(name_before("a", "a"));
    EXPECT_TRUE(name_before("a", "B"));
    EXPECT_TRUE(name_before("intr", "intrblk"));
    EXPECT_TRUE(name_before("", "a"));
}

}  // namespace
}  // namespace blkscope::kstat_command
