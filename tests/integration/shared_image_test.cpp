// One image and two programs that would write to it. One of them is refused, unless both are the same
// server.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "../unit/loop_device.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

class SharedImage : public ServedDevice {
  protected:
    void SetUp() override {
        ServedDevice::SetUp();
        image_ = make_image("disk.img", 1 << 20);
    }
    /// A second server on the image; its one line of complaint if it refuses.
    CommandResult second(const std::vector<std::string>& options = {}) {
        std::vector<std::string> command{BLKSCOPE_BINARY, "serve", image_, "--unix",
                                         path("second")};
        command.insert(command.end(), options.begin(), options.end());
        return run(command);
    }
    void expect_refused(const CommandResult& result, const std::string& who) {
        EXPECT_EQ(result.status, 1) << result.output;
        EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
        EXPECT_EQ(result.output.rfind("blkscope: open " + image_ + ": it is in use: ", 0), 0u)
            << result.output;
        EXPECT_NE(result.output.find(who), std::string::npos) << result.output;
        EXPECT_NE(result.output.find("--force-shared"), std::string::npos) << result.output;
    }
    /// An export of the image with these properties.
    [[nodiscard]] std::string exp(const std::string& name, const std::string& more = "") const {
        return R"({"name": ")" + name + R"(", "backing": ")" + image_ + "\"" + more + "}";
    }

    std::string image_;
};

TEST_F(SharedImage, IsRefusedToASecondServerThatWouldWrite) {
    serve(image_);
    expect_refused(second(), "locked by process " + std::to_string(server_->pid()) + " (blkscope)");
    const auto reader = serve_beside(image_, "reader", {"--read-only"});
    EXPECT_EQ(Client(uri_at("reader")).try_read(0, 512), 0);
    const auto insisting = serve_beside(image_, "insisting", {"--force-shared"});
    EXPECT_EQ(Client(uri_at("insisting")).try_write(0, 512), 0);
    EXPECT_EQ(Client(uri()).try_write(0, 512), 0);
}

TEST_F(SharedImage, IsTheSameUnderAnotherName) {
    serve(image_);
    const std::string served = image_;
    std::filesystem::create_hard_link(served, path("hard"));
    std::filesystem::create_symlink(served, path("symbolic"));
    for (const char* name : {"hard", "symbolic"}) {
        image_ = path(name);
        expect_refused(second(), "(blkscope)");
    }
}

TEST_F(SharedImage, IsTheSameBehindALoopDevice) {
    serve(image_);
    const LoopDevice loop(image_);
    if (!loop.is_there()) GTEST_SKIP() << "SKIPPED: no loop device here: " << std::strerror(errno);
    image_ = loop.path();
    expect_refused(second(), "its file is locked by process " + std::to_string(server_->pid()) +
                                 " (blkscope)");
    const auto reader = serve_beside(image_, "reader", {"--read-only"});
    EXPECT_EQ(Client(uri_at("reader")).try_read(0, 512), 0);
    const auto insisting = serve_beside(image_, "insisting", {"--force-shared"});
    EXPECT_EQ(Client(uri_at("insisting")).try_write(0, 512), 0);
}

// The reload fails as a whole, and says why; what was served still is.
TEST_F(SharedImage, OfAnotherServerIsRefusedToAReload) {
    const std::string own = make_image("own.img", 1 << 20);
    const auto other = serve_beside(image_, "other");
    std::ofstream(path("lab.json"))
        << R"({"listen": ["unix:)" << socket_ << R"("], "exports": [{"name": "own", "backing": ")"
        << own << R"("}]})";
    serve_with({"--config", path("lab.json")});
    configure(exp("a"));
    reload("it is in use: locked by process " + std::to_string(other->pid()) + " (blkscope)");
    EXPECT_EQ(Client(uri("own")).try_write(0, 512), 0);
    EXPECT_EQ(Client(uri_at("other")).try_write(0, 512), 0);
}

TEST_F(SharedImage, IsServedBesideReaders) {
    serve(image_, {"--read-only"});
    const auto writer = serve_beside(image_, "writer");
    EXPECT_EQ(Client(uri_at("writer")).try_write(0, 512), 0);
    const auto reader = serve_beside(image_, "reader", {"--read-only"});
    EXPECT_EQ(Client(uri_at("reader")).try_read(0, 512), 0);
}

// The second server does not wait for the end of the first, like a script that restarts a server.
TEST_F(SharedImage, IsServedAgainAsSoonAsItsServerEnds) {
    serve(image_);
    server_->signal(SIGTERM);
    auto next = serve_beside(image_, "next");
    EXPECT_EQ(Client(uri_at("next")).try_write(0, 512), 0);
    next->signal(SIGKILL);
    const auto last = serve_beside(image_, "last");
    EXPECT_EQ(Client(uri_at("last")).try_write(0, 512), 0);
}

TEST_F(SharedImage, MayBeServedTwiceByOneServer) {
    serve_with({"a=" + image_, "b=" + image_, "--unix", socket_});
    EXPECT_EQ(Client(uri("a")).try_write(0, 512, 'a'), 0);
    EXPECT_EQ(Client(uri("b")).read(0, 512), std::vector<char>(512, 'a'));
    expect_refused(second(), "(blkscope)");
}

// The old export is served to its clients until they have their answers, beside the new one.
TEST_F(SharedImage, IsOpenedAnewByAReload) {
    configure(exp("a"));
    serve_with({"--config", path("lab.json")});
    const Client old(uri("a"));
    configure(exp("a", R"(, "description": "changed")"));
    reload("0 added, 1 replaced, 0 removed\n");
    EXPECT_EQ(Client(uri("a")).try_write(0, 512), 0);
    configure(exp("a", R"(, "force-shared": true)"));
    reload("0 added, 1 replaced, 0 removed\n");
    configure(exp("a", R"(, "read-only": true)"));
    reload("0 added, 1 replaced, 0 removed\n");
    EXPECT_EQ(Client(uri("a")).try_write(0, 512), EPERM);
    // Nothing of the exports that wrote is left.
    const auto writer = serve_beside(image_, "writer");
    EXPECT_EQ(Client(uri_at("writer")).try_write(0, 512), 0);
    configure(exp("a"));
    reload("everything stays as it was\n");
    EXPECT_EQ(Client(uri("a")).try_read(0, 512), 0);
}

// qemu's programs do not look at flock(2), and tests compare an image that is served with a copy.
TEST_F(SharedImage, IsOpenToQemuWhileItIsServed) {
    NEEDS("qemu-nbd");
    NEEDS("qemu-img");
    serve(image_);
    EXPECT_EQ(Client(uri()).try_write(0, 512, 'q'), 0);
    succeed({"qemu-img", "convert", "-f", "raw", "-O", "raw", image_, path("copy")});
    succeed({"qemu-img", "compare", "-f", "raw", "-F", "raw", image_, path("copy")});
    Process qemu({"qemu-nbd", "-f", "raw", "-t", "-k", path("qemu"), image_}, path("qemu.log"));
    // qemu-nbd forgets a SIGTERM that comes after its socket and before its first client.
    ASSERT_TRUE(eventually([&] {
        return run({"nbdinfo", "--can", "connect", uri_at("qemu")}).status == 0;
    }));
    EXPECT_EQ(Client(uri()).try_write(0, 512), 0);
    qemu.signal(SIGTERM);
    qemu.wait();
}

TEST_F(SharedImage, IsRefusedWhileQemuServesIt) {
    NEEDS("qemu-nbd");
    Process qemu({"qemu-nbd", "-f", "raw", "-t", "-k", path("qemu"), image_}, path("qemu.log"));
    // qemu-nbd forgets a SIGTERM that comes after its socket and before its first client.
    ASSERT_TRUE(eventually([&] {
        return run({"nbdinfo", "--can", "connect", uri_at("qemu")}).status == 0;
    }));
    expect_refused(second(), "(qemu-nbd)");
    serve(image_, {"--read-only"});
    EXPECT_EQ(Client(uri()).try_read(0, 512), 0);
    qemu.signal(SIGTERM);
    qemu.wait();
    const auto writer = serve_beside(image_, "writer");
    EXPECT_EQ(Client(uri_at("writer")).try_write(0, 512), 0);
}

}  // namespace
}  // namespace blkscope::test
