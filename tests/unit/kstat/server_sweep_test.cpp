// The sweep of the run directory where a stream of it cannot be had. A program of its own: it puts
// a fdopendir(3) that fails in the library's place.
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

#include "../temporary_folder.hpp"
#include "kstat/provider/server.hpp"

namespace {
int failures = 0;  // of the next calls of fdopendir()
}

extern "C" DIR* fdopendir(int descriptor) {
    if (failures > 0) {
        --failures;
        errno = ENOMEM;
        return nullptr;
    }
    using Function = DIR* (*)(int);
    static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "fdopendir"));
    return real(descriptor);
}

namespace blkscope::kstat {
namespace {

size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(KstatServer, ASweepThatFailsLeavesNoDescriptorOpen) {
    const test::RunFolder folder;
    boost::asio::io_context io;
    std::make_shared<Server>(io);  // Asio's own descriptors are open from here
    const size_t before = open_descriptors();
    for (int i = 0; i < 10; ++i) {
        failures = 1;
        std::make_shared<Server>(io);
        EXPECT_EQ(failures, 0);
    }
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace blkscope::kstat
