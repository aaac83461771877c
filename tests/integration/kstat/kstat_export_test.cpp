// libkstat shows its seven functions and nothing else.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

namespace blkscope {

namespace {

TEST(KstatExports, AreExactlyTheSevenFunctions) {
    FILE* const nm = popen(NM " -D --defined-only " LIBKSTAT, "r");
    ASSERT_NE(nm, nullptr);
    std::set<std::string> functions;
    char kind;
    char name[256];
    while (std::fscanf(nm, "%*s %c %255s", &kind, name) == 2) {
        if (kind == 'A') continue;  // the version's own name
        const std::string versioned = name;
        functions.insert(versioned.substr(0, versioned.find('@')));
    }
    pclose(nm);
    EXPECT_EQ(functions, (std::set<std::string>{"kstat_open", "kstat_close", "kstat_chain_update",
                                                "kstat_read", "kstat_write", "kstat_lookup",
                                                "kstat_data_lookup"}));
}

}  // namespace

}  // namespace blkscope
