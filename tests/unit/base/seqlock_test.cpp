#include "base/seqlock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>

namespace blkscope {

namespace {

TEST(Seqlock, AReaderNeverSeesHalfAWrite) {
    Seqlock lock;
    uint64_t first = 0;
    uint64_t second = 0;
    std::atomic<bool> done{false};
    std::thread writer([&] {
        for (uint64_t i = 1; i <= 200'000; ++i) {
            const auto writing = lock.write();
            publish(first, i);
            publish(second, 2 * i);
        }
        done = true;
    });
    uint64_t last = 0;
    while (!done) {
        const auto [a, b] = lock.read([&] { return std::pair(observe(first), observe(second)); });
        ASSERT_EQ(b, 2 * a);
        ASSERT_GE(a, last);
        last = a;
    }
    writer.join();
}

}  // namespace

}  // namespace blkscope
