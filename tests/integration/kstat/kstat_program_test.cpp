// A provider and a reader written in C for Solaris, compiled unchanged, talk to each other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "child_process.hpp"

namespace blkscope {

namespace {

using KstatPrograms = KstatProcesses;

std::string output_of(const char* command) {
    FILE* const pipe = popen(command, "r");
    std::string output;
    for (int byte = std::fgetc(pipe); byte != EOF; byte = std::fgetc(pipe)) {
        output += static_cast<char>(byte);
    }
    EXPECT_EQ(pclose(pipe), 0) << output;
    return output;
}

TEST_F(KstatPrograms, ASolarisReaderSeesASolarisProvider) {
    FILE* const provider = popen("exec " C_PROVIDER " > $KSTAT_DIR/ready", "w");
    ASSERT_NE(provider, nullptr);
    EXPECT_TRUE(eventually(
        [&] { return output_of("cat $KSTAT_DIR/ready 2>/dev/null || true") == "ready\n"; }));
    // The reader shows all disks, the machine's own too.
    const std::string without_the_hosts = C_READER " | sed /^linux:/d";
    EXPECT_EQ(output_of(without_the_hosts.c_str()), "fd:0:fd0 512 1\nopens 4\nvendor ACME\n");
    std::fputc('\n', provider);
    EXPECT_EQ(pclose(provider), 0);
    EXPECT_EQ(output_of(without_the_hosts.c_str()), "");
}

}  // namespace

}  // namespace blkscope
