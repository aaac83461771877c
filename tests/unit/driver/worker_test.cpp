// A worker without a thread, and a worker that cannot begin.
#include "driver/nbd/transmission/worker.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "../temporary_folder.hpp"
#include "blockdev/backing/backing.hpp"
#include "delegating_kernel.hpp"
#include "parser_driver.hpp"

namespace blkscope::nbd {
namespace {

class WorkerTest : public ::testing::Test {
  protected:
    static std::unique_ptr<Export> make_export(Worker& worker) {
        return worker.make_export({.name = "memory",
                                   .description = {},
                                   .backing = open_backing("memory:1M", {}),
                                   .instance = kstat::claim_instance("nbd")});
    }

    const test::RunFolder folder_;
};

// A kernel that refuses to enable a ring, as Linux does at a limit.
class NoRings final : public blkscope::testing::DelegatingKernel {
  public:
    int enable(io_uring&) override { return -EPERM; }
};

TEST_F(WorkerTest, ARingThatCannotBeEnabledIsAFailureOfStart) {
    NoRings kernel;
    Worker worker(true, kernel);
    try {
        worker.start();
        FAIL() << "it has started";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), EPERM);
        EXPECT_NE(std::string(error.what()).find("enable io_uring"), std::string::npos);
    }
    worker.stop();
    EXPECT_TRUE(worker.join({}));
}

/// A backing for which there is no memory: for a second worker's part of it, or for a session.
class Needy final : public Backing {
  public:
    struct Lacks {
        bool another = false;
        std::atomic<bool> session = false;
    };
    explicit Needy(const Lacks& lacks) : lacks_(lacks) {}

    [[nodiscard]] std::string describe() const override { return "needy"; }
    [[nodiscard]] uint64_t size_bytes() const override { return 4096; }
    void attach(Ring&) override {}
    [[nodiscard]] bool shareable() const override { return true; }
    [[nodiscard]] std::unique_ptr<Backing> another() const override {
        if (lacks_.another) throw std::bad_alloc();
        return std::make_unique<Needy>(lacks_);
    }
    [[nodiscard]] uint64_t losses() const override {
        if (lacks_.session) throw std::bad_alloc();
        return 0;
    }
    std::optional<int32_t> prepare(Buf& buf) override { return static_cast<int32_t>(buf.bcount); }

  private:
    const Lacks& lacks_;
};

std::unique_ptr<Export> make_needy(Worker& worker, const Needy::Lacks& lacks) {
    return worker.make_export({.name = "needy",
                               .description = {},
                               .backing = std::make_unique<Needy>(lacks),
                               .instance = kstat::claim_instance("nbd")});
}

/// The bytes that a new client of the worker gets for a read of 512 bytes.
ssize_t bytes_of_a_reply(Worker& worker, Export& exp) {
    int sockets[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    std::string stream;
    testing::append_request(stream, ReplyForm::simple, {.type = Command::read, .length = 512});
    EXPECT_GT(send(sockets[0], stream.data(), stream.size(), MSG_NOSIGNAL), 0);
    worker.hand_over(exp, {}, sockets[1], nullptr);
    char reply[16 + 512];
    const ssize_t bytes = recv(sockets[0], reply, sizeof reply, MSG_WAITALL);
    close(sockets[0]);
    return bytes;
}

TEST_F(WorkerTest, AClientWithoutMemoryForItIsClosedAndOthersGoOn) {
    Worker owner(false);
    Worker other(false);
    owner.start();
    other.start();
    Needy::Lacks lacks;
    lacks.another = true;
    auto exp = make_needy(owner, lacks);
    auto memory = make_export(other);
    EXPECT_LE(bytes_of_a_reply(other, *exp), 0);  // closed, or reset with the request unread
    EXPECT_EQ(bytes_of_a_reply(other, *memory), 16 + 512);
    EXPECT_EQ(bytes_of_a_reply(owner, *exp), 16 + 512);
    owner.close_export(std::move(exp));
    other.close_export(std::move(memory));
    for (Worker* const worker : {&owner, &other}) {
        worker->stop();
        EXPECT_TRUE(worker->join({}));
    }
}

// The lane that was opened for the client is closed again, so its export can be closed.
TEST_F(WorkerTest, AClientWithoutMemoryForItsSessionLeavesNothing) {
    Worker owner(false);
    Worker other(false);
    owner.start();
    other.start();
    Needy::Lacks lacks;
    auto exp = make_needy(owner, lacks);
    lacks.session = true;
    EXPECT_LE(bytes_of_a_reply(other, *exp), 0);
    EXPECT_LE(bytes_of_a_reply(owner, *exp), 0);
    lacks.session = false;
    EXPECT_EQ(bytes_of_a_reply(other, *exp), 16 + 512);
    EXPECT_EQ(bytes_of_a_reply(owner, *exp), 16 + 512);
    owner.close_export(std::move(exp));
    for (Worker* const worker : {&other, &owner}) {
        worker->stop();
        EXPECT_TRUE(worker->join({}));
    }
}

TEST_F(WorkerTest, ACallerMayDoTheThreadsWork) {
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    std::string stream;
    testing::append_request(stream, ReplyForm::simple, {.type = Command::read, .length = 512});
    testing::append_request(stream, ReplyForm::simple, {.type = Command::disc});
    ASSERT_EQ(send(sockets[0], stream.data(), stream.size(), 0),
              static_cast<ssize_t>(stream.size()));

    Worker worker(false);
    unsigned closed = 0;
    worker.when_connection_ended([&] { ++closed; });
    worker.begin();
    auto exp = make_export(worker);
    worker.hand_over(*exp, {}, sockets[1], nullptr);
    EXPECT_EQ(worker.connections(), 1u);
    while (closed == 0) {
        worker.wait();
        worker.turn();
    }
    char reply[1024];
    EXPECT_EQ(recv(sockets[0], reply, sizeof reply, 0), 16 + 512);
    EXPECT_EQ(recv(sockets[0], reply, sizeof reply, 0), 0);
    close(sockets[0]);
    EXPECT_EQ(worker.connections(), 0u);
    EXPECT_FALSE(worker.finished());

    worker.close_export(std::move(exp));
    worker.stop();
    for (int turns = 0; !worker.finished(); ++turns) {
        ASSERT_LT(turns, 100);
        worker.wait();
        worker.turn();
    }
    EXPECT_TRUE(worker.all_flushed());
    EXPECT_TRUE(worker.join({}));
}

/// Counts the backings of its kind that are there.
class Counted final : public Backing {
  public:
    explicit Counted(size_t& count) : count_(count) { ++count_; }
    ~Counted() override { --count_; }

    [[nodiscard]] std::string describe() const override { return "counted"; }
    [[nodiscard]] uint64_t size_bytes() const override { return 4096; }
    void attach(Ring&) override {}
    bool read_now(uint64_t, std::span<std::byte> to) override {
        std::ranges::fill(to, std::byte{});
        return true;
    }
    std::optional<int32_t> prepare(Buf&) override { return 0; }

  private:
    size_t& count_;
};

// To destroy an export takes as long as hundreds of requests.
TEST_F(WorkerTest, ATurnDestroysOneOfManyExportsThatGo) {
    constexpr size_t exports = 50;
    size_t there = 0;
    Worker worker(false);
    worker.begin();
    std::vector<std::unique_ptr<Export>> made;
    for (size_t i = 0; i < exports; ++i) {
        made.push_back(worker.make_export({.name = std::to_string(i),
                                           .description = {},
                                           .backing = std::make_unique<Counted>(there),
                                           .instance = kstat::claim_instance("nbd")}));
        made.back()->serial = i + 1;
    }
    for (auto& exp : made) worker.close_export(std::move(exp));
    worker.stop();
    for (size_t turns = 0; !worker.finished(); ++turns) {
        const size_t before = there;
        ASSERT_LT(turns, 10 * exports);
        worker.wait();  // does not sleep: nothing would wake the worker
        worker.turn();
        EXPECT_LE(before - there, 1u);
    }
    EXPECT_EQ(there, 0u);
    EXPECT_TRUE(worker.all_flushed());
    EXPECT_TRUE(worker.join({}));
}

}  // namespace
}  // namespace blkscope::nbd
