#include "base/run_directory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace blkscope {

namespace {

TEST(RunDirectory, IsWhereTheEnvironmentSays) {
    setenv("KSTAT_DIR", "/somewhere", 1);
    EXPECT_EQ(run_directory(), "/somewhere");
}

TEST(RunDirectory, IsTheSystemsForRootAndForWhoHasNone) {
    unsetenv("KSTAT_DIR");
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    EXPECT_EQ(run_directory(), geteuid() == 0 ? "/run/kstat" : "/run/user/7/kstat");
    unsetenv("XDG_RUNTIME_DIR");
    EXPECT_EQ(run_directory(), "/run/kstat");
}

TEST(ReaderDirectories, AreOnlyTheOneThatTheEnvironmentNames) {
    setenv("KSTAT_DIR", "/somewhere", 1);
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    EXPECT_EQ(reader_directories(), std::vector<std::string>{"/somewhere"});
}

TEST(ReaderDirectories, AreTheMachinesAndTheUsersOwn) {
    unsetenv("KSTAT_DIR");
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    const std::vector<std::string> paths = reader_directories();
    EXPECT_EQ(paths.front(), run_directory());
    EXPECT_EQ(std::ranges::count(paths, "/run/kstat"), 1);
    EXPECT_EQ(std::ranges::count(paths, "/run/user/7/kstat"), 1);
    if (geteuid() != 0) {
        EXPECT_EQ(paths.size(), 2U);
    }
}

TEST(ReaderDirectories, OfAUserWithoutOneAreTheMachines) {
    unsetenv("KSTAT_DIR");
    unsetenv("XDG_RUNTIME_DIR");
    const std::vector<std::string> paths = reader_directories();
    EXPECT_EQ(paths.front(), "/run/kstat");
    EXPECT_EQ(std::ranges::count(paths, "/run/kstat"), 1);
}

TEST(SocketName, IsThePidAndNothingElseIsTakenForOne) {
    EXPECT_EQ(socket_name(12), "12.sock");
    EXPECT_EQ(pid_of_socket("12.sock"), 12);
    for (const char* name : {"", ".sock", "0.sock", "-1.sock", "012.sock", "12.sock.new", "12",
                             "12x.sock", "nbd.instances", "99999999999.sock"}) {
        EXPECT_FALSE(pid_of_socket(name)) << name;
    }
}

}  // namespace

}  // namespace blkscope
