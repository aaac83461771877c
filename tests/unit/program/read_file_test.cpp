// Files that are read whole, and what is none.
#include "tools/program/read_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

#include "../failure.hpp"
#include "../temporary_folder.hpp"
#include "base/descriptor.hpp"

namespace blkscope::program {
namespace {

TEST(ReadFile, ReturnsTheWholeFile) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "file";
    const std::string text = std::string(200'000, 'x') + "end";
    std::ofstream(path) << text;
    EXPECT_EQ(read_file(path, 1 << 20), text);
    std::ofstream(path, std::ios::trunc).flush();
    EXPECT_EQ(read_file(path, 1 << 20), "");
    EXPECT_THROW(static_cast<void>(read_file(path + "x", 1)), std::system_error);
}

TEST(ReadFile, MoreThanTheBoundIsRefused) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "large";
    std::ofstream(path).put('x');
    std::filesystem::resize_file(path, (1 << 20) + 1);
    EXPECT_EQ(failure_of([&] { return read_file(path, 1 << 20); }),
              path + ": it is larger than 1 MiB");
    // The size of a file of /proc is 0, and says nothing.
    EXPECT_FALSE(read_file("/proc/self/status", 1 << 20).empty());
}

TEST(ReadFile, DevicesAndFoldersAreNoFiles) {
    EXPECT_EQ(failure_of([] { return read_file("/dev/zero", 100); }), "/dev/zero: it is a device");
    EXPECT_EQ(failure_of([] { return read_file("/", 100); }), "/: it is a directory");
}

TEST(ReadFile, APipeIsReadToItsEndOrRefused) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const Descriptor reader(ends[0]);
    const std::string path = "/proc/self/fd/" + std::to_string(reader.get());
    std::thread writer([end = ends[1]] {
        const Descriptor owned(end);
        const std::string part(50'000, 'x');
        for (int i = 0; i < 4; ++i) {
            if (::write(owned.get(), part.data(), part.size()) < 0) return;
        }
    });
    EXPECT_EQ(read_file(path, 1 << 20).size(), 200'000U);
    writer.join();
    EXPECT_EQ(failure_of([&] { return read_file(path, 100, Pipes::refused); }),
              path + ": it is a pipe");
}

}  // namespace
}  // namespace blkscope::program
