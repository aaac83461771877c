// The order in which replies are sent, and the moment when each request is released.
#include "driver/nbd/transmission/replies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "driver/nbd/transmission/client_memory.hpp"
#include "driver/nbd/transmission/reserve.hpp"
#include "driver/nbd/transmission/shared_memory.hpp"

namespace blkscope::nbd {
namespace {

constexpr size_t mib = size_t{1} << 20;

class RepliesTest : public ::testing::Test {
  protected:
    PendingRequest& ready_read(size_t bytes) {
        PendingRequest& request = requests_.emplace_back();
        data_.emplace_back(bytes, static_cast<char>('a' + requests_.size() % 26));
        request.command = Command::read;
        request.op = Buf::Op::read;
        request.cookie = requests_.size();
        request.bcount = bytes;
        request.data = reinterpret_cast<std::byte*>(data_.back().data());
        replies_.push(request);
        return request;
    }

    // Sends at most `most` bytes of the next pieces; returns the released requests.
    std::vector<uint64_t> send(size_t most) {
        std::vector<uint64_t> released;
        replies_.next();
        replies_.taken(std::min(most, replies_.next_bytes()),
                       [&](PendingRequest& request) { released.push_back(request.cookie); });
        return released;
    }

    std::deque<PendingRequest> requests_;
    std::deque<std::string> data_;
    Replies replies_{ReplyForm::simple};
};

TEST_F(RepliesTest, ALongReplyGoesOutInPieces) {
    ready_read(3 * mib);
    size_t sends = 0;
    std::vector<uint64_t> released;
    while (!replies_.empty()) {
        ASSERT_EQ(released.size(), 0u);
        size_t bytes = 0;
        for (const iovec& piece : replies_.next()) bytes += piece.iov_len;
        EXPECT_EQ(bytes, replies_.next_bytes());
        EXPECT_LE(bytes, Replies::send_bytes_max);
        replies_.taken(bytes, [&](PendingRequest& r) { released.push_back(r.cookie); });
        ++sends;
    }
    EXPECT_EQ(released, std::vector<uint64_t>{1});
    EXPECT_EQ(sends, 4u);
}

TEST_F(RepliesTest, ARequestIsReleasedWithItsLastByte) {
    ready_read(1000);
    ready_read(2000);
    EXPECT_EQ(send(1015), std::vector<uint64_t>{});
    EXPECT_EQ(send(1), std::vector<uint64_t>{1});
    ready_read(10);  // after the replies on the wire
    EXPECT_EQ(send(2015), std::vector<uint64_t>{});
    EXPECT_EQ(send(1), std::vector<uint64_t>{2});
    EXPECT_EQ(send(26), std::vector<uint64_t>{3});
    EXPECT_TRUE(replies_.empty());
}

TEST_F(RepliesTest, WhateverIsSentAtATimeTheStreamIsTheSame) {
    std::mt19937 random(20261122);
    std::string expected;
    for (int i = 0; i < 700; ++i) {  // more than one list holds
        PendingRequest& request = ready_read(1 + random() % 9000);
        expected.append(reinterpret_cast<const char*>(request.heads.data()), request.head_bytes);
        expected += data_.back();
    }
    std::string sent;
    uint64_t last = 0;
    while (!replies_.empty()) {
        const auto pieces = replies_.next();
        size_t left = 1 + random() % replies_.next_bytes();
        const size_t bytes = left;
        for (const iovec& piece : pieces) {
            const size_t part = std::min(left, piece.iov_len);
            sent.append(static_cast<const char*>(piece.iov_base), part);
            left -= part;
        }
        replies_.taken(bytes, [&](PendingRequest& r) { EXPECT_EQ(r.cookie, ++last); });
    }
    EXPECT_EQ(last, 700u);
    EXPECT_EQ(sent, expected);
}

TEST_F(RepliesTest, WhatIsDroppedIsReleased) {
    ready_read(1000);
    send(10);
    ready_read(1000);
    size_t released = 0;
    replies_.drop_ready([&](PendingRequest&) { ++released; });
    EXPECT_EQ(released, 1u);
    EXPECT_FALSE(replies_.empty());
    replies_.drop_all([&](PendingRequest&) { ++released; });
    EXPECT_EQ(released, 2u);
    EXPECT_TRUE(replies_.empty());
}

TEST(Reserve, LendsOneRequestOfUpToItsSize) {
    Reserve reserve;
    EXPECT_EQ(reserve.acquire(reserve_bytes_max + 1), nullptr);
    PendingRequest* request = reserve.acquire(reserve_bytes_max);
    ASSERT_NE(request, nullptr);
    EXPECT_TRUE(reserve.is_out());
    std::memset(request->data, 'r', reserve_bytes_max);
    EXPECT_EQ(reserve.acquire(1), nullptr);
    reserve.release(*request);
    for (int second = 0; second < 5; ++second) reserve.tick();
    request = reserve.acquire(4096);
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(request->data[0], std::byte{0}) << "its pages were not given back";
    reserve.release(*request);
    request = reserve.acquire(0);
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(request->data, nullptr);
    reserve.release(*request);
}

TEST(SharedMemory, UnusedPagesGoBackToTheSystem) {
    SharedMemory memory;
    const ClientMemory client(memory);
    const auto touch = [&] {
        PendingRequest* request = memory.acquire(client, 4096);
        const std::byte before = request->data[0];
        request->data[0] = std::byte{1};
        memory.release(*request);
        return before;
    };
    touch();
    memory.tick(true);
    EXPECT_EQ(touch(), std::byte{1}) << "a pause of a second is none";
    memory.tick(false);
    EXPECT_EQ(touch(), std::byte{0}) << "without clients nothing is kept";
    for (int second = 0; second < 10; ++second) memory.tick(true);
    EXPECT_EQ(touch(), std::byte{0}) << "clients that are idle need nothing";
}

TEST(ClientMemory, GoesOnWithItsReserveAndHoldsAShareAtMost) {
    SharedMemory shared;
    ClientMemory hog(shared);
    ClientMemory victim(shared);
    PendingRequest* all = hog.acquire(64 * mib);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(hog.acquire(4096), nullptr);  // at its own limit, so lacks() stays false
    EXPECT_FALSE(hog.lacks());
    PendingRequest* own = victim.acquire(2 * mib);
    ASSERT_NE(own, nullptr);
    EXPECT_TRUE(own->of_reserve);
    EXPECT_TRUE(victim.lacks());
    EXPECT_EQ(victim.acquire(mib), nullptr);
    for (unsigned second = 0; second < idle_seconds_max; ++second) {
        EXPECT_FALSE(hog.is_stalled());
        hog.tick(true, second);  // a byte a second counts as no progress
        victim.tick(true, 0);
    }
    EXPECT_TRUE(hog.is_stalled());
    EXPECT_FALSE(victim.is_stalled()) << "it holds nothing that is shared";
    hog.tick(true, progress_bytes_min + idle_seconds_max);
    EXPECT_FALSE(hog.is_stalled());
    hog.release(*all);
    victim.release(*own);
    std::vector<PendingRequest*> requests;
    while (PendingRequest* request = hog.acquire(4096)) requests.push_back(request);
    EXPECT_EQ(requests.size(), requests_held_max);
    for (PendingRequest* request : requests) hog.release(*request);
}

// A client at its own limit takes no more, so the slot in place of its reserve stays free. Another
// client uses that slot again and again, and never waits.
TEST(ClientMemory, ARequestInAReserveLeavesASlotFree) {
    constexpr uint32_t slot = Arena::slot_bytes_max;
    SharedMemory shared;
    ClientMemory hogs[] = {ClientMemory(shared), ClientMemory(shared)};
    ClientMemory other(shared);
    std::vector<PendingRequest*> requests[2];
    const auto take_all = [&](size_t i) {
        while (PendingRequest* request = hogs[i].acquire(slot)) requests[i].push_back(request);
    };
    take_all(0);
    PendingRequest* passing = other.acquire(slot);
    ASSERT_NE(passing, nullptr);
    take_all(1);
    EXPECT_TRUE(requests[1].back()->of_reserve);
    other.release(*passing);
    take_all(1);
    EXPECT_EQ(requests[0].size() * slot, bytes_held_max);
    EXPECT_EQ(requests[1].size() * slot, bytes_held_max);
    passing = other.acquire(slot);
    ASSERT_NE(passing, nullptr);
    EXPECT_FALSE(passing->of_reserve);
    EXPECT_FALSE(hogs[0].lacks() || hogs[1].lacks() || other.lacks());
    other.release(*passing);
    for (size_t i = 0; i < 2; ++i) {
        for (PendingRequest* request : requests[i]) hogs[i].release(*request);
    }
}

TEST(SharedMemory, NoLargeRequestOvertakesTheFirstInLine) {
    SharedMemory memory;
    const ClientMemory first(memory);
    const ClientMemory second(memory);
    PendingRequest* all = memory.acquire(first, 64 * mib);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(memory.acquire(second, mib), nullptr);
    memory.stand_in_line(second, mib);
    EXPECT_FALSE(memory.take_released());
    memory.release(*all);
    EXPECT_TRUE(memory.take_released());
    EXPECT_EQ(memory.acquire(first, mib), nullptr);
    PendingRequest* small = memory.acquire(first, 4096);  // of another size
    ASSERT_NE(small, nullptr);
    PendingRequest* one = memory.acquire(second, mib);
    ASSERT_NE(one, nullptr);
    PendingRequest* other = memory.acquire(first, mib);
    ASSERT_NE(other, nullptr);
    for (PendingRequest* request : {small, one, other}) memory.release(*request);
}

}  // namespace
}  // namespace blkscope::nbd
