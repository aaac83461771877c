// Every test has a run directory of its own, so nothing that is installed meets the machine's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

// A forked child of a threaded test may start threads: death tests do, through kstat_install.
extern "C" const char* __tsan_default_options() {
    return "die_after_fork=0";
}

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    std::string directory = std::filesystem::temp_directory_path() / "kstat_test_XXXXXX";
    if (mkdtemp(directory.data()) == nullptr) return 1;
    setenv("KSTAT_DIR", directory.c_str(), 1);
    const int result = RUN_ALL_TESTS();
    std::filesystem::remove_all(directory);
    return result;
}
