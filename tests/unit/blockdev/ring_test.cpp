#include "blockdev/ring/ring.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace blkscope {
namespace {

using std::chrono::steady_clock;

constexpr __kernel_timespec for_long{.tv_sec = 1000, .tv_nsec = 0};
constexpr __kernel_timespec not_for_long{.tv_sec = 0, .tv_nsec = 2'000'000};

/// A ring, and a socket; the test has its other end.
class RingTest : public ::testing::Test {
  protected:
    struct Received final : Completion {
        void complete(int32_t result) override { bytes = result; }
        int32_t bytes = 0;
    };

    void SetUp() override {
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
        ring_.enable();
    }
    void TearDown() override {
        for (const int end : ends_) close(end);
    }

    static void fill(int socket) {
        const std::string block(4096, 'x');
        while (send(socket, block.data(), block.size(), MSG_DONTWAIT) > 0) {
        }
    }
    void drain() {
        std::string block(65536, ' ');
        while (recv(ends_[1], block.data(), block.size(), MSG_DONTWAIT) > 0) {
        }
    }
    void prepare_receive(const __kernel_timespec& patience) {
        ring_.prepare_when_writable(ends_[0], patience, received_, [&](io_uring_sqe* entry) {
            io_uring_prep_recv(entry, ends_[0], to_, sizeof to_, 0);
        });
    }
    void run_until_received() {
        while (received_.bytes == 0) {
            ring_.wait();
            ring_.dispatch();
        }
    }
    void turn() {
        ring_.wait(false);
        ring_.dispatch();
    }

    Ring ring_{16, false};
    int ends_[2] = {-1, -1};
    char to_[16] = {};
    Received received_;
};

TEST_F(RingTest, WhatWaitsForAWritableSocketBeginsAtOnceIfItIs) {
    ASSERT_EQ(send(ends_[1], "four", 4, 0), 4);
    prepare_receive(for_long);
    turn();
    EXPECT_EQ(received_.bytes, 4);
}

TEST_F(RingTest, WhatWaitsForAWritableSocketBeginsWhenItsPeerHasRead) {
    fill(ends_[0]);
    ASSERT_EQ(send(ends_[1], "four", 4, 0), 4);
    prepare_receive(for_long);
    turn();
    EXPECT_EQ(received_.bytes, 0);
    drain();
    run_until_received();
    EXPECT_EQ(received_.bytes, 4);
}

TEST_F(RingTest, WhatWaitsForAWritableSocketBeginsAfterSomeTimeAllTheSame) {
    fill(ends_[0]);
    ASSERT_EQ(send(ends_[1], "four", 4, 0), 4);
    const auto began = steady_clock::now();
    prepare_receive(not_for_long);
    run_until_received();
    EXPECT_EQ(received_.bytes, 4);
    EXPECT_GE(steady_clock::now() - began, std::chrono::milliseconds(2));
}

TEST_F(RingTest, WhatWaitsForAWritableSocketHearsThatItsPeerHasGone) {
    fill(ends_[0]);
    prepare_receive(for_long);
    turn();
    received_.bytes = -1;
    close(ends_[1]);
    ends_[1] = -1;
    for (int i = 0; i < 100 && received_.bytes == -1; ++i) {
        ring_.wait();
        ring_.dispatch();
    }
    EXPECT_TRUE(received_.bytes == 0 || received_.bytes == -ECONNRESET) << received_.bytes;
}

// The kernel finds the wait whose time has run out by its user_data.
TEST_F(RingTest, EachWaitForAWritableSocketHasATimeOfItsOwn) {
    Received other;
    int others[2] = {-1, -1};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, others), 0);
    fill(ends_[0]);
    fill(others[0]);
    ASSERT_EQ(send(ends_[1], "four", 4, 0), 4);
    prepare_receive(not_for_long);
    char to[16] = {};
    ring_.prepare_when_writable(others[0], for_long, other, [&](io_uring_sqe* entry) {
        io_uring_prep_recv(entry, others[0], to, sizeof to, 0);
    });
    const auto deadline = steady_clock::now() + std::chrono::seconds(10);
    while (received_.bytes == 0 && steady_clock::now() < deadline) turn();
    EXPECT_EQ(received_.bytes, 4);
    close(others[1]);
    other.bytes = -1;
    while (other.bytes == -1 && steady_clock::now() < deadline) turn();
    EXPECT_TRUE(other.bytes == 0 || other.bytes == -ECONNRESET) << other.bytes;
    close(others[0]);
}

// A link ends with its submission.
TEST_F(RingTest, NoLinkIsCutWhereverTheQueueIsFull) {
    struct Nop final : Completion {
        void complete(int32_t) override {}
    } nop;
    for (int before = 0; before <= 16; ++before) {
        for (int i = 0; i < before; ++i) {
            ring_.prepare(nop, [](io_uring_sqe* entry) { io_uring_prep_nop(entry); });
        }
        ASSERT_EQ(send(ends_[1], "four", 4, 0), 4);
        received_.bytes = 0;
        prepare_receive(for_long);
        run_until_received();
        EXPECT_EQ(received_.bytes, 4) << before;
    }
}

}  // namespace
}  // namespace blkscope
