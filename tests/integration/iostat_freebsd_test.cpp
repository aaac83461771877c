// iostat --style freebsd, the program, beside a server.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

class IostatFreebsd : public ServedDevice {
  protected:
    CommandResult iostat(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {IOSTAT_BINARY, "--style", "freebsd"});
        return run(arguments);
    }
};

TEST_F(IostatFreebsd, CountsWhatAClientDidSinceTheDeviceWasCreated) {
    serve("memory:1M");
    Client client(uri());
    for (int i = 0; i < 3; ++i) ASSERT_EQ(client.try_write(0, 65536), 0);
    ASSERT_EQ(client.try_read(0, 16384), 0);
    const CommandResult result = iostat({"-dI"});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.output,
              "            nbd0 \n"
              "  KB/t xfrs   MB \n"
              " 52.00   4  0.20 \n");
}

TEST_F(IostatFreebsd, ReportsAsOftenAsItIsTold) {
    serve("memory:1M");
    const CommandResult result = iostat({"-d", "-w", "0.02", "-c", "3"});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.output,
              "            nbd0 \n"
              "  KB/t tps  MB/s \n"
              "  0.00   0  0.00 \n"
              "  0.00   0  0.00 \n"
              "  0.00   0  0.00 \n");
}

TEST_F(IostatFreebsd, SaysThatItsOutputCannotBeWritten) {
    serve("memory:1M");
    const CommandResult result =
        run({"sh", "-c", std::string("'") + IOSTAT_BINARY + "' --style=freebsd >/dev/full"});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.output, "iostat: cannot write: No space left on device\n");
}

TEST_F(IostatFreebsd, AnInterruptIsAnsweredWithALastReport) {
    serve("memory:1M");
    Process iostat({IOSTAT_BINARY, "--style=freebsd", "-d", "-w", "600"}, path("iostat.out"));
    ASSERT_TRUE(eventually([&] { return iostat.output().find("0.00 \n") != std::string::npos; }));
    iostat.signal(SIGINT);
    EXPECT_EQ(iostat.wait(), 0);
    EXPECT_EQ(iostat.output(),
              "            nbd0 \n"
              "  KB/t tps  MB/s \n"
              "  0.00   0  0.00 \n"
              "  0.00   0  0.00 \n");
}

TEST_F(IostatFreebsd, ShowsADeviceThatComesAndTheHeaderAgain) {
    serve("memory:1M");
    Process iostat({IOSTAT_BINARY, "--style=freebsd", "-d", "-w", "0.02"}, path("iostat.out"));
    ASSERT_TRUE(eventually([&] { return iostat.output().find("0.00 \n") != std::string::npos; }));
    const auto other = serve_beside("memory:1M", "other.sock");
    EXPECT_TRUE(eventually([&] {
        return iostat.output().find("            nbd0             nbd1 \n") != std::string::npos;
    }));
    iostat.signal(SIGTERM);
    EXPECT_EQ(iostat.wait(), 0);
}

TEST_F(IostatFreebsd, SelectsByNameAndByType) {
    serve_with({"one=memory:1M", "two=memory:1M"});
    EXPECT_EQ(iostat({"-d", "nbd1"}).output.substr(0, 18), "            nbd1 \n");
    EXPECT_EQ(iostat({"-d", "-t", "da,other"}).output.substr(0, 35),
              "            nbd0             nbd1 \n");
    EXPECT_NE(iostat({"-d", "nbd7"}).output.find("iostat: no such device"), std::string::npos);
    const CommandResult missing = iostat({"-d", "--must-exist", "nbd0", "nbd7"});
    EXPECT_EQ(missing.status, 1);
    EXPECT_EQ(missing.output, "iostat: no device named nbd7 in " + folder_.string() + "\n");
    EXPECT_EQ(iostat({"-d", "--must-exist", "nbd0"}).status, 0);
    EXPECT_EQ(iostat({"-d", "--must-exist", "-n", "1", "nbd0", "nbd1"}).status, 0);
    const CommandResult one = iostat({"-d", "nbd0", "nbd7"});
    EXPECT_EQ(one.status, 0);
    EXPECT_EQ(one.output.rfind("iostat: no device named nbd7 in " + folder_.string() + "\n", 0), 0u)
        << one.output;
    const CommandResult wrong = iostat({"-t", "disk"});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_EQ(wrong.output, "iostat: devstat_buildmatch: unknown match item \"disk\"\n");
}

TEST_F(IostatFreebsd, WithoutDevicesItSaysWhereItLooked) {
    const CommandResult result = iostat({"-d"});
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.output.find("iostat: no devices in " + folder_.string()), std::string::npos);
}

}  // namespace
}  // namespace blkscope::test
