#include "rbd/rbd_backing.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../failure.hpp"
#include "blockdev/device/device.hpp"
#include "fake_librbd.hpp"

namespace blkscope::rbd {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t mib = uint64_t{1} << 20;

struct Request : Buf {
    Request(Op what, uint64_t at, uint64_t count) : memory(what == Op::read ? count : 4096) {
        op = what;
        offset = at;
        bcount = count;
        data = memory.data();
        iodone = [](Buf& buf) { static_cast<Request&>(buf).done = true; };
    }
    std::vector<std::byte> memory;
    bool done = false;
};

// While it lives, no thread can begin: no address space has room for such a stack.
class NoThreads {
  public:
    NoThreads() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t huge = before_;
        EXPECT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 60), 0);
        EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;
    ~NoThreads() { pthread_setattr_default_np(&before_); }

  private:
    pthread_attr_t before_{};
};

class RbdBackingTest : public testing::Test {
  protected:
    void SetUp() override {
        cluster_.reset();
        ring_ = std::make_unique<Ring>(32);
        ring_->enable();
    }
    void TearDown() override {
        while (!cluster_.waiting.empty()) cluster_.finish_first(-EIO);
        end();
    }

    void serve(RbdBacking::Options options = {}) {
        const Place place{.pool = "p", .image = "i"};
        auto backing =
            std::make_unique<RbdBacking>(open(fake_librbd, place, false, 10s), place, options);
        backing_ = backing.get();
        device_ = std::make_unique<Device>(*ring_, std::move(backing), std::nullopt,
                                           DeviceOptions{.queue_depth = 8});
        cluster_.answers_at_once = false;
    }

    // Destroys the device, and waits until the image is closed.
    void end() {
        if (!device_) return;
        device_.reset();
        ring_->wait(false);
        ring_->dispatch();
        while (!cluster_.is_closed) std::this_thread::sleep_for(1ms);
    }

    void turn() {
        ring_->wait();
        ring_->dispatch();
    }
    void begin(Request& request) {
        device_->strategy(request);
        ring_->wait(false);
        ring_->dispatch();
    }
    int result_of(Request& request) {
        while (!request.done) turn();
        return request.error;
    }
    int answer(Request& request, int64_t result) {
        begin(request);
        cluster_.finish_first(result);
        return result_of(request);
    }

    blkscope_rbd_image& cluster_ = blkscope_rbd_image::the();
    std::unique_ptr<Ring> ring_;
    RbdBacking* backing_ = nullptr;
    std::unique_ptr<Device> device_;
};

TEST_F(RbdBackingTest, GivesTheDataOfAReadToItsRequest) {
    serve();
    Request read(Buf::Op::read, 4096, 512);
    begin(read);
    EXPECT_EQ(cluster_.first(), "read 4096 512");
    cluster_.finish_first(512);
    EXPECT_EQ(result_of(read), 0);
    EXPECT_EQ(read.memory, std::vector<std::byte>(512, std::byte{'r'}));
}

TEST_F(RbdBackingTest, AsksForTheRestOfAShortRead) {
    serve();
    Request read(Buf::Op::read, 0, 1024);
    begin(read);
    cluster_.finish_first(512, std::byte{'a'});
    turn();
    EXPECT_EQ(cluster_.first(), "read 512 512");
    cluster_.finish_first(512, std::byte{'b'});
    EXPECT_EQ(result_of(read), 0);
    EXPECT_EQ(read.memory[511], std::byte{'a'});
    EXPECT_EQ(read.memory[512], std::byte{'b'});
}

TEST_F(RbdBackingTest, HandsOnFua) {
    serve();
    Request write(Buf::Op::write, 0, 4096);
    write.fua = true;
    begin(write);
    EXPECT_EQ(cluster_.first(), "write-fua 0 4096");
    cluster_.finish_first(0);
    EXPECT_EQ(result_of(write), 0);
    // librbd's discard has no such flag.
    Request trim(Buf::Op::trim, 0, mib);
    trim.fua = true;
    begin(trim);
    EXPECT_EQ(cluster_.first(), "discard 0 1048576");
    cluster_.finish_first(0);
    turn();
    EXPECT_EQ(cluster_.first(), "flush 0 0");
    EXPECT_FALSE(trim.done);
    cluster_.finish_first(0);
    EXPECT_EQ(result_of(trim), 0);
}

TEST_F(RbdBackingTest, DoesALongDiscardInShares) {
    serve();
    cluster_.size_bytes = 4096 * mib;  // the image has grown
    Request trim(Buf::Op::trim, 512, 1536 * mib);
    begin(trim);
    EXPECT_EQ(cluster_.first(), "discard 512 1073741824");
    cluster_.finish_first(0);
    turn();
    EXPECT_EQ(cluster_.first(), "discard 1073742336 536870912");
    cluster_.finish_first(0);
    EXPECT_EQ(result_of(trim), 0);
}

TEST_F(RbdBackingTest, WritesZeroesWhereTheRangeStaysProvisioned) {
    serve();
    Request zeroes(Buf::Op::write_zeroes, 0, 4096);
    zeroes.no_hole = true;
    begin(zeroes);
    EXPECT_EQ(cluster_.first(), "zeroes-thick 0 4096");
    cluster_.finish_first(0);
    EXPECT_EQ(result_of(zeroes), 0);
    Request fast(Buf::Op::write_zeroes, 0, 4096);
    fast.no_hole = fast.fast_zero = true;
    begin(fast);
    EXPECT_EQ(result_of(fast), EOPNOTSUPP);
}

TEST_F(RbdBackingTest, FailsARequestThatIsNotAnsweredInTime) {
    serve({.patience = 20ms});
    Request read(Buf::Op::read, 0, 4096);
    EXPECT_EQ(result_of((begin(read), read)), ETIMEDOUT);
    EXPECT_EQ(backing_->figures().orphans(), 1u);
    EXPECT_EQ(backing_->figures().timeouts(), 1u);
    // The answer that comes too late does not write to the request's memory.
    cluster_.finish_first(4096);
    while (backing_->figures().orphans() > 0) turn();
    EXPECT_EQ(read.memory[0], std::byte{0});
    Request again(Buf::Op::read, 0, 4096);
    EXPECT_EQ(answer(again, 4096), 0);
}

TEST_F(RbdBackingTest, RefusesAtOnceWithTooManyOrphans) {
    serve({.patience = 20ms, .orphans_max = 2});
    for (int i = 0; i < 2; ++i) {
        Request write(Buf::Op::write, 0, 4096);
        EXPECT_EQ(result_of((begin(write), write)), ETIMEDOUT);
    }
    Request refused(Buf::Op::write, 0, 4096);
    begin(refused);
    EXPECT_TRUE(refused.done);
    EXPECT_EQ(refused.error, ETIMEDOUT);
    cluster_.finish_first(0);
    while (backing_->figures().orphans() > 1) turn();
    Request write(Buf::Op::write, 0, 4096);
    begin(write);
    EXPECT_FALSE(write.done);
    cluster_.finish_first(0);  // the other orphan
    cluster_.finish_first(0);
    EXPECT_EQ(result_of(write), 0);
}

TEST_F(RbdBackingTest, FlushesAgainAfterAFlushThatWasLate) {
    serve({.patience = 20ms});
    Request late(Buf::Op::flush, 0, 0);
    EXPECT_EQ(result_of((begin(late), late)), ETIMEDOUT);
    cluster_.finish_first(0);
    Request flush(Buf::Op::flush, 0, 0);
    EXPECT_EQ(answer(flush, 0), 0);
    // librbd's own failure stays, as a file's does.
    Request failed(Buf::Op::flush, 0, 0);
    EXPECT_EQ(answer(failed, -EIO), EIO);
    Request after(Buf::Op::flush, 0, 0);
    EXPECT_EQ(answer(after, 0), EIO);
}

TEST_F(RbdBackingTest, FailsBehindTheEndOfAnImageThatHasShrunk) {
    serve();
    cluster_.size_bytes = mib;
    Request read(Buf::Op::read, 2 * mib, 4096);
    EXPECT_EQ(answer(read, -EINVAL), EIO);
    Request write(Buf::Op::write, 2 * mib, 4096);
    EXPECT_EQ(answer(write, -EINVAL), ENOSPC);
    Request crossing(Buf::Op::write, mib - 512, 1024);
    EXPECT_EQ(answer(crossing, 0), ENOSPC);
    Request inside(Buf::Op::write, mib - 512, 512);
    EXPECT_EQ(answer(inside, 0), 0);
    EXPECT_EQ(device_->size_bytes(), 1024 * mib);
}

TEST_F(RbdBackingTest, GrowsWithItsImage) {
    serve();
    cluster_.size_bytes = 2048 * mib;
    EXPECT_EQ(device_->size_bytes(), 2048 * mib);
    Request write(Buf::Op::write, 2000 * mib, 4096);
    EXPECT_EQ(answer(write, 0), 0);
    cluster_.size_bytes = mib;
    EXPECT_EQ(device_->size_bytes(), 2048 * mib);
}

TEST_F(RbdBackingTest, SaysThatItsClientIsBlocklisted) {
    serve();
    Request write(Buf::Op::write, 0, 4096);
    EXPECT_EQ(answer(write, -ESHUTDOWN), EIO);
    EXPECT_TRUE(backing_->figures().blocklisted());
}

TEST_F(RbdBackingTest, EndsWithOrphansAndClosesTheImageWhenTheyHaveEnded) {
    serve({.patience = 20ms});
    Request read(Buf::Op::read, 0, 4096);
    EXPECT_EQ(result_of((begin(read), read)), ETIMEDOUT);
    device_.reset();
    turn();  // the ring ends its read of the event
    EXPECT_FALSE(cluster_.is_closed);
    cluster_.finish_first(4096);
    while (!cluster_.is_closed) std::this_thread::sleep_for(1ms);
}

TEST_F(RbdBackingTest, GivesUpAClusterThatDoesNotOpenTheImage) {
    const Place place{.pool = "p", .image = "i"};
    cluster_.open_error = -ENOENT;
    try {
        (void)open(fake_librbd, place, false, 10s);
        ADD_FAILURE() << "it is open";
    } catch (const std::system_error& failure) {
        EXPECT_EQ(failure.code().value(), ENOENT);
        EXPECT_STREQ(failure.what(), "rbd:p/i: open the image: No such file or directory");
    }
    cluster_.open_error = 0;
    cluster_.open_time = 1100ms;
    try {
        (void)open(fake_librbd, place, false, 1s);
        ADD_FAILURE() << "it is open";
    } catch (const std::system_error& failure) {
        EXPECT_EQ(failure.code().value(), ETIMEDOUT);
    }
    while (!cluster_.is_closed) std::this_thread::sleep_for(1ms);  // an image that is open too late
}

TEST_F(RbdBackingTest, OpensNothingWithoutAThread) {
    const NoThreads none;
    EXPECT_EQ(failure_of<std::system_error>(
                  [] { return open(fake_librbd, {.pool = "p", .image = "i"}, false, 10s); }),
              "rbd:p/i: begin a thread: Resource temporarily unavailable");
}

TEST_F(RbdBackingTest, LeavesAnImageOpenThatNoThreadCanClose) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // the parent has threads
    const auto end_without_threads = [this] {
        serve({});
        const NoThreads none;
        device_.reset();
        std::exit(cluster_.is_closed ? 0 : 2);  // NOLINT(concurrency-mt-unsafe)
    };
    EXPECT_EXIT(
        end_without_threads(), testing::ExitedWithCode(1),
        "^blkscope: rbd: no thread to close an image: Resource temporarily unavailable; it stays "
        "open\n$");
}

TEST_F(RbdBackingTest, LooksForAPartitionTableForSomeTimeOnly) {
    cluster_.answers_at_once = false;
    serve({.patience = 20ms});
    EXPECT_GT(backing_->figures().orphans(), 0u);
}

}  // namespace
}  // namespace blkscope::rbd
