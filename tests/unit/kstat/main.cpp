// Every test has a run directory of its own, so nothing that is installed meets the machine's.
#include <gtest/gtest.h>

#include "../temporary_folder.hpp"

// A forked child of a threaded test may start threads: death tests do, through kstat_install.
extern "C" const char* __tsan_default_options() {
    return "die_after_fork=0";
}

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const blkscope::test::RunFolder folder;
    return RUN_ALL_TESTS();
}
