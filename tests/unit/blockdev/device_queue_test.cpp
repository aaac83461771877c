// The rules of DeviceQueue, without ring, clock, lock or thread.
#include "blockdev/queue/device_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "blockdev/model/limits.hpp"

namespace blkscope {
namespace {

/// A request that has arrived and waits.
struct WaitingRequest : Buf {
    explicit WaitingRequest(Op what) {
        op = what;
        state = State::waiting;
    }
};

std::vector<Buf*> items(BufQueue& queue) {
    std::vector<Buf*> all;
    while (!queue.empty()) all.push_back(&queue.pop());
    return all;
}

TEST(DeviceQueue, GivesNothingWhenNothingCame) {
    DeviceQueue queue(4);
    EXPECT_EQ(queue.next().buf, nullptr);
    EXPECT_TRUE(queue.idle());
}

TEST(DeviceQueue, StartsInTheOrderOfArrivalUpToItsDepth) {
    DeviceQueue queue(2);
    WaitingRequest first(Buf::Op::read);
    WaitingRequest second(Buf::Op::write);
    WaitingRequest third(Buf::Op::trim);
    for (Buf* buf : {&first, &second, &third}) queue.enter(*buf);
    EXPECT_EQ(queue.next().buf, &first);
    EXPECT_EQ(queue.next().buf, &second);
    EXPECT_EQ(queue.next().buf, nullptr);
    queue.ended(second);
    const DeviceQueue::Turn turn = queue.next();
    EXPECT_EQ(turn.buf, &third);
    EXPECT_TRUE(turn.runs);
}

// A lane with many running requests does not overtake an earlier request of another lane.
TEST(DeviceQueue, NoLaneKeepsAnotherOut) {
    DeviceQueue queue(1);
    std::deque<WaitingRequest> many;
    WaitingRequest lonely(Buf::Op::read);
    for (int i = 0; i < 220; ++i) queue.enter(many.emplace_back(Buf::Op::read));
    queue.enter(lonely);
    WaitingRequest late(Buf::Op::read);
    queue.enter(late);
    for (int i = 0; i < 220; ++i) {
        const Buf* started = queue.next().buf;
        ASSERT_NE(started, &lonely);
        queue.ended(*started);
    }
    EXPECT_EQ(queue.next().buf, &lonely);
}

TEST(DeviceQueue, AFlushWaitsForThoseThatCameBeforeItToHaveAPlace) {
    DeviceQueue queue(1);
    WaitingRequest read(Buf::Op::read);
    WaitingRequest flush(Buf::Op::flush);
    queue.enter(read);
    queue.enter(flush);
    EXPECT_EQ(queue.next().buf, &read);
    EXPECT_EQ(queue.next().buf, nullptr);
    queue.ended(read);
    EXPECT_EQ(queue.next().buf, &flush);
}

TEST(DeviceQueue, FlushesAreGatheredWhileOneRunsAndHoldNoDepth) {
    DeviceQueue queue(1);
    WaitingRequest running(Buf::Op::flush);
    WaitingRequest second(Buf::Op::flush);
    WaitingRequest third(Buf::Op::flush);
    for (Buf* buf : {&running, &second, &third}) queue.enter(*buf);
    EXPECT_TRUE(queue.next().runs);
    EXPECT_FALSE(queue.next().runs);  // at full depth
    EXPECT_FALSE(queue.next().runs);
    EXPECT_EQ(queue.running(), 1U);

    BufQueue served;
    EXPECT_EQ(queue.end_flush(running, served), &second);
    EXPECT_TRUE(served.empty());  // the gathered flushes arrived after it began
    EXPECT_EQ(queue.running(), 1U);
    EXPECT_EQ(queue.end_flush(second, served), nullptr);
    EXPECT_EQ(items(served), std::vector<Buf*>{&third});
    EXPECT_TRUE(queue.idle());
}

TEST(DeviceQueue, TheNextFlushServesThoseOfOneThatWasGivenUp) {
    DeviceQueue queue(4);
    std::deque<WaitingRequest> flushes;
    const auto enter = [&](hrtime_t arrival) {
        queue.enter(flushes.emplace_back(Buf::Op::flush));
        flushes.back().queued = arrival;
        static_cast<void>(queue.next());
    };
    for (const hrtime_t arrival : {10, 20, 40, 30}) enter(arrival);
    BufQueue served;
    EXPECT_EQ(queue.end_flush(flushes[0], served), &flushes[1]);
    enter(50);  // while the second one runs for those behind it
    EXPECT_EQ(queue.give_up_flush(flushes[1]), &flushes[2]);
    EXPECT_EQ(flushes[2].newest, 50);
    EXPECT_EQ(queue.end_flush(flushes[2], served), nullptr);
    EXPECT_EQ(items(served), (std::vector<Buf*>{&flushes[3], &flushes[4]}));
    EXPECT_TRUE(queue.idle());
}

TEST(DeviceQueue, AFlushSaysWhenTheNewestCameThatItServes) {
    DeviceQueue queue(4);
    std::deque<WaitingRequest> flushes;
    for (const hrtime_t arrival : {10, 20, 50, 40}) {
        queue.enter(flushes.emplace_back(Buf::Op::flush));
        flushes.back().queued = arrival;
    }
    while (queue.next().buf != nullptr) {
    }
    EXPECT_EQ(flushes[0].newest, 10);
    BufQueue served;
    EXPECT_EQ(queue.end_flush(flushes[0], served), &flushes[1]);
    EXPECT_EQ(flushes[1].newest, 50);
    EXPECT_EQ(queue.end_flush(flushes[1], served), nullptr);
    EXPECT_EQ(items(served).size(), 2u);
}

TEST(DeviceQueue, ForAFlushItsWaitForMemoryCounts) {
    DeviceQueue queue(4);
    std::deque<WaitingRequest> flushes;
    for (const hrtime_t held_back : {3, 5, 9}) {
        queue.enter(flushes.emplace_back(Buf::Op::flush));
        flushes.back().queued = 10;
        flushes.back().held_back = held_back;
    }
    while (queue.next().buf != nullptr) {
    }
    EXPECT_EQ(flushes[0].newest, 7);
    EXPECT_EQ(flushes[1].newest, 5);  // and that of the third is 1
    BufQueue served;
    EXPECT_EQ(queue.end_flush(flushes[0], served), &flushes[1]);
    EXPECT_EQ(queue.end_flush(flushes[1], served), nullptr);
}

TEST(DeviceQueue, AFlushThatComesWhileTheGatheredOneRunsWaitsForTheNext) {
    DeviceQueue queue(8);
    WaitingRequest one(Buf::Op::flush);
    WaitingRequest two(Buf::Op::flush);
    WaitingRequest three(Buf::Op::flush);
    queue.enter(one);
    queue.enter(two);
    static_cast<void>(queue.next());
    static_cast<void>(queue.next());
    BufQueue served;
    ASSERT_EQ(queue.end_flush(one, served), &two);
    queue.enter(three);
    EXPECT_FALSE(queue.next().runs);
    EXPECT_EQ(queue.end_flush(two, served), &three);
    EXPECT_TRUE(served.empty());
}

TEST(DeviceQueue, ARequestWithoutTokensKeepsItsPlace) {
    DeviceQueue queue(4);
    model::Limits limits(model::LimitSpec::parse("read_iops=1"), 0);
    WaitingRequest first(Buf::Op::read);
    WaitingRequest second(Buf::Op::read);
    WaitingRequest write(Buf::Op::write);
    WaitingRequest third(Buf::Op::read);
    for (Buf* buf : {&first, &second, &write, &third}) queue.enter(*buf);
    queue.begin_pass(limits, 0);
    EXPECT_EQ(queue.next(&limits).buf, &first);
    EXPECT_EQ(queue.next(&limits).buf, &write);  // needs no tokens of reads
    EXPECT_EQ(queue.next(&limits).buf, nullptr);
    EXPECT_FALSE(queue.idle());
    WaitingRequest last(Buf::Op::read);
    queue.enter(last);
    queue.begin_pass(limits, *limits.again_at());
    EXPECT_EQ(queue.next(&limits).buf, &second);
    EXPECT_EQ(queue.next(&limits).buf, nullptr);
    queue.end_passes();  // the limit was removed
    EXPECT_EQ(queue.next().buf, &third);
    EXPECT_EQ(queue.next().buf, nullptr);
    queue.ended(first);
    EXPECT_EQ(queue.next().buf, &last);
}

// Another worker may begin a pass between two calls.
TEST(DeviceQueue, APassThatIsBrokenOffLosesNoPlaces) {
    DeviceQueue queue(4);
    model::Limits limits(model::LimitSpec::parse("read_iops=1"), 0);
    WaitingRequest first(Buf::Op::read);
    WaitingRequest second(Buf::Op::read);
    WaitingRequest write(Buf::Op::write);
    WaitingRequest third(Buf::Op::read);
    for (Buf* buf : {&first, &second, &write, &third}) queue.enter(*buf);
    queue.begin_pass(limits, 0);
    EXPECT_EQ(queue.next(&limits).buf, &first);
    EXPECT_EQ(queue.next(&limits).buf, &write);  // the second request is refused
    queue.begin_pass(limits, 1'000'000'001);
    EXPECT_EQ(queue.next(&limits).buf, &second);
    EXPECT_EQ(queue.next(&limits).buf, nullptr);
}

TEST(DeviceQueue, AFullDepthIsNoLackOfTokens) {
    DeviceQueue queue(1);
    model::Limits limits(model::LimitSpec::parse("iops=1"), 0);
    WaitingRequest first(Buf::Op::read);
    WaitingRequest second(Buf::Op::read);
    queue.enter(first);
    queue.enter(second);
    queue.begin_pass(limits, 0);
    EXPECT_EQ(queue.next(&limits).buf, &first);
    EXPECT_EQ(queue.next(&limits).buf, nullptr);
    EXPECT_FALSE(limits.again_at());
    queue.ended(first);
    queue.begin_pass(limits, 0);
    EXPECT_EQ(queue.next(&limits).buf, nullptr);
    EXPECT_EQ(limits.again_at(), 1);
}

/// Starts requests one after another, each ends at once. Returns how many.
unsigned start_all(DeviceQueue& queue, model::Limits& limits, hrtime_t now) {
    queue.begin_pass(limits, now);
    unsigned count = 0;
    while (const Buf* const buf = queue.next(&limits).buf) {
        queue.ended(*buf);
        ++count;
    }
    return count;
}

// While the depth is full the bucket fills and overflows: 10 ms of 1,000 a second are 10 tokens.
TEST(DeviceQueue, TokensAreNotSavedUpWhileTheDepthIsFull) {
    constexpr hrtime_t ms = 1'000'000;
    DeviceQueue queue(1);
    model::Limits limits(model::LimitSpec::parse("iops=1000"), 0);
    std::deque<WaitingRequest> requests;
    for (int i = 0; i < 100; ++i) queue.enter(requests.emplace_back(Buf::Op::read));
    EXPECT_EQ(start_all(queue, limits, 0), 10U);
    queue.begin_pass(limits, ms);
    Buf* const slow = queue.next(&limits).buf;
    ASSERT_NE(slow, nullptr);
    for (hrtime_t now = 2 * ms; now < 1000 * ms; now += 20 * ms) {
        queue.begin_pass(limits, now);
        EXPECT_EQ(queue.next(&limits).buf, nullptr);
        EXPECT_FALSE(limits.again_at());  // a place is missing, and no token
    }
    queue.ended(*slow);
    EXPECT_EQ(start_all(queue, limits, 1000 * ms), 10U);
}

// A pass begins while the depth is full. The place that comes free in it is not left empty.
TEST(DeviceQueue, ARefusedRequestStartsWhenItHasTokensAndAPlace) {
    constexpr hrtime_t second = 1'000'000'000;
    DeviceQueue queue(1);
    model::Limits limits(model::LimitSpec::parse("read_iops=1"), 0);
    WaitingRequest first(Buf::Op::read);
    WaitingRequest second_read(Buf::Op::read);
    WaitingRequest write(Buf::Op::write);
    queue.enter(first);
    queue.enter(second_read);
    EXPECT_EQ(start_all(queue, limits, 0), 1U);
    queue.enter(write);
    EXPECT_EQ(queue.next(&limits).buf, &write);
    queue.begin_pass(limits, 2 * second);
    EXPECT_EQ(queue.next(&limits).buf, nullptr);
    queue.ended(write);
    EXPECT_EQ(queue.next(&limits).buf, &second_read);
}

// A flush that needs no place takes no tokens before a refused request, which needs one.
TEST(DeviceQueue, AFlushIsNotGatheredBeforeARefusedRequestHasTheTokens) {
    constexpr hrtime_t second = 1'000'000'000;
    DeviceQueue queue(2);
    model::Limits limits(model::LimitSpec::parse("iops=1"), 0);
    WaitingRequest first(Buf::Op::flush);
    WaitingRequest write(Buf::Op::write);
    WaitingRequest status(Buf::Op::block_status);
    WaitingRequest flush(Buf::Op::flush);
    for (Buf* buf : {&first, &write, &status}) queue.enter(*buf);
    queue.begin_pass(limits, 0);
    EXPECT_EQ(queue.next(&limits).buf, &first);
    EXPECT_EQ(queue.next(&limits).buf, &status);  // the write is refused
    queue.enter(flush);
    queue.begin_pass(limits, second);
    EXPECT_EQ(queue.next(&limits).buf, nullptr);
    queue.ended(status);
    EXPECT_EQ(queue.next(&limits).buf, &write);
    EXPECT_EQ(queue.next(&limits).buf, nullptr);
    queue.ended(write);
    queue.begin_pass(limits, 3 * second);
    const DeviceQueue::Turn turn = queue.next(&limits);
    EXPECT_EQ(turn.buf, &flush);
    EXPECT_FALSE(turn.runs);
}

// For any order of arrivals and ends, the depth and the order are kept. Each request gets its turn
// once.
TEST(DeviceQueue, KeepsDepthAndOrderWhateverHappens) {
    std::mt19937 random(20261122);  // a fixed seed: a failure can be run again
    for (int round = 0; round < 200; ++round) {
        DeviceQueue queue(1 + static_cast<uint32_t>(random() % 5));
        std::deque<WaitingRequest> all;
        std::vector<Buf*> running;
        size_t turns = 0;
        for (int step = 0; step < 400; ++step) {
            if (random() % 2 == 0 && all.size() < 150) {
                queue.enter(all.emplace_back(random() % 4 == 0 ? Buf::Op::flush : Buf::Op::read));
            } else if (!running.empty()) {
                const size_t which = random() % running.size();
                Buf* ending = running[which];
                running.erase(running.begin() + static_cast<ptrdiff_t>(which));
                BufQueue served;
                Buf* next = nullptr;
                if (ending->op == Buf::Op::flush) {
                    next = queue.end_flush(*ending, served);
                } else {
                    queue.ended(*ending);
                }
                if (next != nullptr) running.push_back(next);
            }
            for (DeviceQueue::Turn turn = queue.next(); turn.buf != nullptr; turn = queue.next()) {
                ASSERT_EQ(turn.buf, &all[turns++]);
                if (turn.runs) running.push_back(turn.buf);
            }
            ASSERT_EQ(queue.running(), running.size());
            ASSERT_LE(queue.running(), queue.depth());
        }
    }
}

}  // namespace
}  // namespace blkscope
