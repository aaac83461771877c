#include "tools/program/replace_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "../temporary_folder.hpp"

namespace blkscope::program {
namespace {

namespace fs = std::filesystem;

class ReplacedFile : public ::testing::Test {
  protected:
    static std::string text_of(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }
    template <class Action>
    static int error_of(Action action) {
        try {
            action();
        } catch (const std::system_error& failure) {
            return failure.code().value();
        }
        return 0;
    }
    [[nodiscard]] auto files() const {
        return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
    }

    const test::TemporaryFolder folder_;
    const std::string path_ = folder_ / "report.html";
};

TEST_F(ReplacedFile, IsMadeWithTheUsualRights) {
    const mode_t before = umask(027);
    replace_file(path_, "first");
    umask(before);
    EXPECT_EQ(text_of(path_), "first");
    EXPECT_EQ(fs::status(path_).permissions(), fs::perms{0640});
}

TEST_F(ReplacedFile, KeepsItsRightsAndItsLinks) {
    replace_file(path_, "first, and longer");
    fs::permissions(path_, fs::perms{0604});
    fs::create_symlink("report.html", folder_ / "link");
    replace_file(folder_ / "link", "second");
    EXPECT_EQ(text_of(path_), "second");
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(fs::status(path_).permissions(), fs::perms{0604});
    EXPECT_EQ(files(), 2);
}

// The limit of file sizes stands for a full disk.
TEST_F(ReplacedFile, StaysAsItWasWhereThereIsNoRoom) {
    replace_file(path_, "first");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{1000, before.rlim_max};
    const auto action = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int error = error_of([&] { replace_file(path_, std::string(5000, 'x')); });
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, action);
    EXPECT_EQ(error, EFBIG);
    EXPECT_EQ(text_of(path_), "first");
    EXPECT_EQ(files(), 1);
}

TEST_F(ReplacedFile, IsWrittenInPlaceIfItIsAPipeOrAnOpenDescriptor) {
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    require_replaceable(path_);
    std::thread writer([&] { replace_file(path_, "through the pipe"); });
    EXPECT_EQ(text_of(path_), "through the pipe");
    writer.join();
    EXPECT_TRUE(fs::is_fifo(path_));
    std::ofstream(folder_ / "log") << "before ";
    const int log = open((folder_ / "log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    replace_file("/proc/self/fd/" + std::to_string(log), "content");
    ASSERT_EQ(write(log, " and after", 10), 10);
    close(log);
    EXPECT_EQ(text_of(folder_ / "log"), "content and after");
}

TEST_F(ReplacedFile, IsTriedBeforeALongRunAndNothingChanges) {
    require_replaceable(path_);
    EXPECT_EQ(files(), 0);
    std::ofstream(path_) << "first";
    require_replaceable(path_);
    EXPECT_EQ(text_of(path_), "first");
    EXPECT_EQ(error_of([&] { require_replaceable(folder_); }), EISDIR);
    EXPECT_EQ(error_of([&] { require_replaceable(folder_ / "none/report"); }), ENOENT);
    EXPECT_EQ(error_of([&] { replace_file(folder_ / "none/report", "x"); }), ENOENT);
    EXPECT_EQ(error_of([&] { replace_file(folder_, "x"); }), EISDIR);
    EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace blkscope::program
