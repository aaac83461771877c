// A server's end with backings that flush, fail or do not respond.
#include "driver/nbd/server/server.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

#include "../temporary_folder.hpp"
#include "blockdev/backing/memory_backing.hpp"
#include "driver/nbd/server/asio_executor.hpp"
#include "driver/nbd/transmission/worker.hpp"
#include "handshake_client.hpp"

namespace blkscope::nbd {
namespace {

// Counts flushes; the test sets the result and the time of each.
struct Script {
    std::atomic<int> flushes{0};
    int outcome = 0;
    int gate = -1;  // an eventfd that each flush waits for; -1: none
};

class ScriptedFlushes final : public Backing {
  public:
    explicit ScriptedFlushes(Script& script) : script_(script) {}
    [[nodiscard]] std::string describe() const override { return "scripted"; }
    [[nodiscard]] uint64_t size_bytes() const override { return 1 << 20; }
    void attach(Ring& ring) override { ring_ = &ring; }
    std::optional<int32_t> prepare(Buf& buf) override {
        ++script_.flushes;
        if (script_.gate < 0) return script_.outcome;
        opened_.buf = &buf;
        opened_.ring = ring_;
        ring_->prepare(opened_, [&](io_uring_sqe* entry) {
            io_uring_prep_poll_add(entry, script_.gate, POLLIN);
        });
        return std::nullopt;
    }
    bool more(Buf& buf) override {
        buf.resid = 0;
        return false;
    }

  private:
    // The gate's own completion, which must not be taken for a flush's.
    struct Opened final : Completion {
        void complete(int32_t) override { ring->completed(*buf, 0); }
        Buf* buf = nullptr;
        Ring* ring = nullptr;
    };

    Script& script_;
    Ring* ring_ = nullptr;
    Opened opened_;
};

class ServerTest : public ::testing::Test {
  protected:
    ExportOptions exp(const std::string& name) {
        return {.name = name,
                .description = {},
                .backing = std::make_unique<ScriptedFlushes>(script_),
                .instance = kstat::claim_instance("nbd")};
    }

    Script script_;
    const test::RunFolder folder_;
    boost::asio::io_context io_;
    AsioExecutor executor_{io_};
};

TEST_F(ServerTest, FlushesEachBackingOnceAtItsEnd) {
    Server server(executor_, {.workers = 2});
    for (const char* name : {"a", "b", "c"}) server.add(exp(name));
    server.start();
    EXPECT_TRUE(server.stop());
    EXPECT_EQ(script_.flushes, 3);
    EXPECT_TRUE(server.all_flushed());
}

TEST_F(ServerTest, FlushesTheBackingOfAnExportThatGoes) {
    Server server(executor_, {});
    server.add(exp("a"));
    server.add(exp("b"));
    server.start();
    server.change({"a"}, {});
    while (script_.flushes == 0) usleep(1000);
    EXPECT_EQ(server.exports(), 1u);
    EXPECT_TRUE(server.stop());
    EXPECT_EQ(script_.flushes, 2);
}

TEST_F(ServerTest, TellsOfABackingThatCouldNotBeFlushed) {
    script_.outcome = -EIO;
    Server server(executor_, {});
    server.add(exp("a"));
    server.start();
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(server.stop());
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_FALSE(server.all_flushed());
    EXPECT_NE(said.find("flush at the end: Input/output error"), std::string::npos) << said;
}

TEST_F(ServerTest, WaitsNoLongerThanItIsToldForABackingThatDoesNotAnswer) {
    script_.gate = eventfd(0, EFD_CLOEXEC);
    Server server(executor_, {});
    server.add(exp("a"));
    server.start();
    EXPECT_FALSE(server.stop(std::chrono::seconds(1)));
    eventfd_write(script_.gate, 1);  // now the backing responds
    EXPECT_TRUE(server.stop());
    ::close(script_.gate);
}

TEST_F(ServerTest, AChangeThatFailsChangesNothing) {
    Server server(executor_, {});
    server.add(exp("a"));
    server.add(exp("b"));
    server.start();
    std::vector<ExportOptions> added;
    added.push_back(exp("c"));
    added.push_back(exp("b"));  // a name in use
    EXPECT_THROW(server.change({"a"}, std::move(added)), std::invalid_argument);
    EXPECT_EQ(server.exports(), 2u);
    added.clear();
    added.push_back(exp("c"));
    server.change({"a"}, std::move(added));
    EXPECT_EQ(server.exports(), 2u);
}

// Disks of different sizes show which one serves a client.
TEST_F(ServerTest, AfterAChangeThatFailedEachNameIsStillItsOwnDisks) {
    Server server(executor_, {});
    const auto disk = [](const std::string& name, uint64_t bytes) {
        return ExportOptions{.name = name,
                             .description = {},
                             .backing = std::make_unique<MemoryBacking>(bytes),
                             .instance = std::nullopt};
    };
    server.add(disk("small", 4096));
    server.add(disk("large", 1 << 20));
    server.start();
    std::vector<ExportOptions> added;
    added.push_back(disk("large", 4096));  // a name in use
    EXPECT_THROW(server.change({"small"}, std::move(added)), std::invalid_argument);

    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const std::string request = testing::u32(request_magic) + testing::u32(0) + testing::u64(7) +
                                testing::u64(512 << 10) + testing::u32(512);
    const std::string said = testing::fixed + testing::option(1, "large") + request;
    ASSERT_EQ(write(ends[1], said.data(), said.size()), static_cast<ssize_t>(said.size()));
    server.serve_client(ends[0]);
    const size_t before = greeting_bytes + sizeof(uint64_t) + sizeof(uint16_t);
    std::string heard(before + simple_reply_bytes + 512, '\0');
    size_t bytes = 0;
    while (bytes < before + simple_reply_bytes) {
        io_.poll();
        const ssize_t result =
            recv(ends[1], heard.data() + bytes, heard.size() - bytes, MSG_DONTWAIT);
        ASSERT_NE(result, 0);
        if (result > 0) bytes += static_cast<size_t>(result);
    }
    EXPECT_EQ(heard.substr(greeting_bytes, sizeof(uint64_t)), testing::u64(1 << 20));
    EXPECT_EQ(heard.substr(before, simple_reply_bytes),
              testing::u32(simple_reply_magic) + testing::u32(0) + testing::u64(7));
    ::close(ends[1]);
    EXPECT_TRUE(server.stop());
}

// A simulator has its own kernel and no threads.
TEST_F(ServerTest, TakesItsWorkersFromWhereItIsTold) {
    std::vector<Worker*> made;
    std::vector<Worker*> begun;
    const auto make = [&](bool busy_wait) {
        auto worker = std::make_unique<Worker>(busy_wait);
        made.push_back(worker.get());
        return worker;
    };
    const auto start = [&](Worker& worker) {
        begun.push_back(&worker);
        worker.start();
    };
    Server server(executor_, {.workers = 2}, {.make = make, .start = start});
    for (const char* name : {"a", "b", "c"}) server.add(exp(name));
    EXPECT_EQ(made.size(), 2u);
    EXPECT_TRUE(begun.empty());
    server.start();
    EXPECT_EQ(begun, made);
    EXPECT_TRUE(server.stop());
    EXPECT_EQ(script_.flushes, 3);
}

TEST_F(ServerTest, OneThatNeverStartedHasNothingToFlush) {
    Server server(executor_, {});
    server.add(exp("a"));
    EXPECT_TRUE(server.stop());
    EXPECT_EQ(script_.flushes, 0);
}

}  // namespace
}  // namespace blkscope::nbd
