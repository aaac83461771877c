// A device that several workers serve. The tests show on which thread a request ends, and which
// request starts first when the device is full. Nothing is counted twice or lost.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../temporary_folder.hpp"
#include "blockdev/accounting/request_histograms.hpp"
#include "blockdev/device/device.hpp"
#include "device_fixture.hpp"

namespace blkscope {
namespace {

/// A worker as in a server: a thread with a ring, which runs the functions that it is given.
class TestWorker {
  public:
    TestWorker() : thread_([this] { loop(); }) {}
    ~TestWorker() {
        run([this] { ending_ = true; });
        thread_.join();
    }
    TestWorker(const TestWorker&) = delete;
    TestWorker& operator=(const TestWorker&) = delete;

    Ring& ring() { return ring_; }
    [[nodiscard]] std::thread::id id() const { return thread_.get_id(); }

    /// Runs a function on the worker's thread, and returns when it has ended.
    void run(const std::function<void()>& what) {
        Task task(what);
        ring_.post(task, 0);
        task.done.get_future().get();
    }

  private:
    struct Task final : Completion {
        explicit Task(const std::function<void()>& what) : call(what) {}
        void complete(int32_t) override {
            call();
            done.set_value();
        }
        const std::function<void()>& call;
        std::promise<void> done;
    };

    void loop() {
        ring_.enable();
        while (!ending_) {
            ring_.wait();
            ring_.dispatch();
        }
        ring_.unlock();
    }

    Ring ring_{64};
    bool ending_ = false;
    std::thread thread_;
};

/// A buf that records the thread on which it ended.
struct NotingBuf : TestBuf {
    explicit NotingBuf(Op what, uint64_t at = 0, uint32_t bytes = 4096) : TestBuf(what, at, bytes) {
        iodone = [](Buf& buf) {
            auto& noting = static_cast<NotingBuf&>(buf);
            noting.ended_on = std::this_thread::get_id();
            ++noting.done;
            noting.ended = true;
        };
    }
    std::thread::id ended_on;
    std::atomic<bool> ended{false};
};

/// A backing that keeps the bufs of its own worker, until the test ends them.
class SharedScript final : public ScriptedBacking {
  public:
    explicit SharedScript(SharedScript** second) : ScriptedBacking(device_bytes), second_(second) {}
    [[nodiscard]] bool shareable() const override { return true; }
    [[nodiscard]] std::unique_ptr<Backing> another() const override {
        auto made = std::make_unique<SharedScript>(nullptr);
        *second_ = made.get();
        return made;
    }

  private:
    SharedScript** second_;
};

class LanesTest : public ::testing::Test {
  protected:
    void TearDown() override {
        b_.run([&] { lane_b_.reset(); });
        a_.run([&] { device_.reset(); });
    }

    void make(std::unique_ptr<Backing> backing, uint32_t depth) {
        a_.run([&] {
            device_ = std::make_unique<Device>(a_.ring(), std::move(backing),
                                               kstat::claim_instance("nbd"),
                                               DeviceOptions{.queue_depth = depth});
        });
        b_.run([&] { lane_b_ = device_->open_lane(b_.ring()); });
        ASSERT_NE(lane_b_, nullptr);
    }

    void make_scripted(uint32_t depth) {
        auto backing = std::make_unique<SharedScript>(&held_by_b_);
        held_by_a_ = backing.get();
        make(std::move(backing), depth);
    }

    void from_a(Buf& buf) {
        a_.run([&] { device_->strategy(buf); });
    }
    void from_b(Buf& buf) {
        b_.run([&] { device_->strategy(buf, *lane_b_); });
    }
    void finish_a(int32_t result) {
        a_.run([&] { held_by_a_->finish_first(result); });
    }
    void finish_b(int32_t result) {
        b_.run([&] { held_by_b_->finish_first(result); });
    }
    /// Waits until the worker has done everything that it was given before.
    void settle() {
        for (int i = 0; i < 3; ++i) {
            a_.run([] {});
            b_.run([] {});
        }
    }
    size_t held_by_a() {
        settle();
        size_t count = 0;
        a_.run([&] { count = held_by_a_->held.size(); });
        return count;
    }
    size_t held_by_b() {
        settle();
        size_t count = 0;
        b_.run([&] { count = held_by_b_->held.size(); });
        return count;
    }

    TestWorker a_;
    TestWorker b_;
    const test::RunFolder folder_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<Lane> lane_b_;
    SharedScript* held_by_a_ = nullptr;
    SharedScript* held_by_b_ = nullptr;
};

TEST_F(LanesTest, ABackingThatCannotBeSharedHasOneLane) {
    a_.run([&] {
        device_ =
            std::make_unique<Device>(a_.ring(), std::make_unique<ScriptedBacking>(4096),
                                     kstat::claim_instance("nbd"), DeviceOptions{.queue_depth = 1});
    });
    EXPECT_FALSE(device_->backing().shareable());
    b_.run([&] { EXPECT_EQ(device_->open_lane(b_.ring()), nullptr); });
}

TEST_F(LanesTest, ARequestEndsOnTheWorkerThatBroughtIt) {
    make_scripted(8);
    NotingBuf a(Buf::Op::read);
    NotingBuf b(Buf::Op::read);
    from_a(a);
    from_b(b);
    EXPECT_EQ(held_by_a(), 1u);
    EXPECT_EQ(held_by_b(), 1u);
    finish_b(4096);
    finish_a(4096);
    settle();
    EXPECT_EQ(a.ended_on, a_.id());
    EXPECT_EQ(b.ended_on, b_.id());
}

TEST_F(LanesTest, TheDepthIsTheDevicesAndThoseThatCameFirstGoFirst) {
    make_scripted(4);
    std::vector<std::unique_ptr<NotingBuf>> bufs;
    for (int i = 0; i < 16; ++i) bufs.push_back(std::make_unique<NotingBuf>(Buf::Op::read));
    for (size_t i = 0; i < 6; ++i) from_a(*bufs[i]);
    for (size_t i = 8; i < 12; ++i) from_b(*bufs[i]);
    for (size_t i = 6; i < 8; ++i) from_a(*bufs[i]);
    for (size_t i = 12; i < 16; ++i) from_b(*bufs[i]);
    EXPECT_EQ(held_by_a(), 4u);
    EXPECT_EQ(held_by_b(), 0u);
    finish_a(4096);
    finish_a(4096);  // the next two requests are the lane's own
    EXPECT_EQ(held_by_a(), 4u);
    EXPECT_EQ(held_by_b(), 0u);
    for (int i = 0; i < 4; ++i) finish_a(4096);  // then four of the other lane
    EXPECT_EQ(held_by_a(), 0u);
    EXPECT_EQ(held_by_b(), 4u);
    finish_b(4096);
    EXPECT_EQ(held_by_a(), 1u);
    EXPECT_EQ(held_by_b(), 3u);
    while (held_by_a() + held_by_b() > 0) {
        if (held_by_a() > 0) finish_a(4096);
        if (held_by_b() > 0) finish_b(4096);
    }
    for (size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(bufs[i]->done, 1);
        EXPECT_EQ(bufs[i]->ended_on, i < 8 ? a_.id() : b_.id()) << i;
    }
    EXPECT_EQ(device_->io().reads, 16u);
    EXPECT_EQ(device_->io().wcnt + device_->io().rcnt, 0u);
}

TEST_F(LanesTest, OneFlushServesThoseOfAllWorkersThatCameMeanwhile) {
    make_scripted(8);
    NotingBuf first(Buf::Op::flush);
    NotingBuf of_a(Buf::Op::flush);
    NotingBuf of_b(Buf::Op::flush);
    NotingBuf also_of_b(Buf::Op::flush);
    from_a(first);
    from_b(of_b);
    from_a(of_a);
    from_b(also_of_b);
    EXPECT_EQ(held_by_a() + held_by_b(), 1u);
    finish_a(0);
    EXPECT_EQ(held_by_a(), 0u);
    EXPECT_TRUE(first.ended);
    EXPECT_EQ(held_by_b(), 1u);  // the flush that waited first runs
    finish_b(0);
    settle();
    EXPECT_EQ(of_a.ended_on, a_.id());
    EXPECT_EQ(of_b.ended_on, b_.id());
    EXPECT_EQ(also_of_b.ended_on, b_.id());
}

TEST_F(LanesTest, AFlushThatFailsFailsForAllWorkersForGood) {
    make_scripted(8);
    NotingBuf flush(Buf::Op::flush);
    from_b(flush);
    finish_b(-EIO);
    settle();
    EXPECT_EQ(flush.error, EIO);
    NotingBuf later(Buf::Op::flush);
    from_a(later);
    EXPECT_EQ(held_by_a(), 1u);  // a flush still syncs as much as it can
    finish_a(0);
    settle();
    EXPECT_EQ(later.error, EIO);
    EXPECT_EQ(held_by_a(), 0u);
}

// One worker has started the request, and the other one has not looked at it yet.
TEST_F(LanesTest, ARequestOnItsWayToItsWorkerDoesNotHangForARemovedRule) {
    make_scripted(1);
    NotingBuf a(Buf::Op::read);
    NotingBuf b(Buf::Op::write);
    from_a(a);
    from_b(b);
    device_->add_fault(model::FaultRule::parse("write:hang", device_bytes, {}));
    b_.run([&] {
        b_.ring().unlock();
        finish_a(4096);
        for (int i = 0; i < 3; ++i) a_.run([] {});
        EXPECT_EQ(device_->io().rcnt, 1u);
        EXPECT_EQ(held_by_b_->held.size(), 0u);
        device_->clear_faults();
    });
    ASSERT_EQ(held_by_b(), 1u);
    finish_b(4096);
    settle();
    EXPECT_TRUE(b.ended);
    EXPECT_EQ(b.error, 0);
}

TEST_F(LanesTest, ALaneThatGoesLeavesTheDeviceToTheOthers) {
    make_scripted(1);
    b_.run([&] { lane_b_.reset(); });
    NotingBuf buf(Buf::Op::read);
    from_a(buf);
    finish_a(4096);
    settle();
    EXPECT_EQ(buf.done, 1);
    b_.run([&] { lane_b_ = device_->open_lane(b_.ring()); });
    NotingBuf again(Buf::Op::read);
    from_b(again);
    finish_b(4096);
    settle();
    EXPECT_EQ(again.ended_on, b_.id());
}

// The signal may be taken together with those completions, and does not come again.
TEST_F(LanesTest, WhatIsPostedWhileCompletionsAreTakenIsNotForgotten) {
    struct Posted final : Completion {
        void complete(int32_t) override { done.set_value(); }
        std::promise<void> done;
    };
    struct Posting final : Completion {
        void complete(int32_t) override {
            std::thread([this] { ring->post(*posted, 0); }).join();
        }
        Ring* ring = nullptr;
        Posted* posted = nullptr;
    };
    for (int i = 0; i < 50; ++i) {
        Posted posted;
        Posting posting;
        posting.ring = &a_.ring();
        posting.posted = &posted;
        auto done = posted.done.get_future();
        a_.run([&] { a_.ring().prepare(posting, [](auto* entry) { io_uring_prep_nop(entry); }); });
        if (done.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
            ADD_FAILURE() << "posted and not called, round " << i;
            a_.ring().wake();
            done.wait();
        }
    }
}

// ---- With real backings ----

class LanesOf : public LanesTest, public ::testing::WithParamInterface<const char*> {
  protected:
    static constexpr uint64_t bytes = uint64_t{4} << 20;

    void make_real(uint32_t depth) {
        std::string spec = GetParam();
        if (spec == "file") {
            spec = folder_ / "disk.img";
            std::ofstream(spec).close();
            std::filesystem::resize_file(spec, bytes);
        }
        make(open_backing(spec, {}), depth);
    }
};

TEST_P(LanesOf, WhatOneWritesTheOtherReads) {
    make_real(4);
    std::vector<std::byte> written(8192, std::byte{'w'});
    std::vector<std::byte> found(8192);
    NotingBuf write(Buf::Op::write, 5000, 8192);
    write.data = written.data();
    from_a(write);
    while (!write.ended) settle();
    NotingBuf read(Buf::Op::read, 5000, 8192);
    read.data = found.data();
    from_b(read);
    while (!read.ended) settle();
    EXPECT_EQ(found, written);
    NotingBuf zero(Buf::Op::write_zeroes, 4096, 8192);
    from_b(zero);
    while (!zero.ended) settle();
    read.ended = false;
    read.offset = 4096;
    from_a(read);
    while (!read.ended) settle();
    EXPECT_EQ(found, std::vector<std::byte>(8192));
}

/// Keeps some requests of every kind running on a lane, until it has done its share.
class Storm {
  public:
    Storm(Device& device, Lane& lane, unsigned seed, uint64_t count)
        : device_(device), lane_(lane), random_(seed), left_(count) {
        for (auto& one : all_) {
            one = std::make_unique<Request>();
            one->storm = this;
            one->memory.resize(4096);
            one->iodone = [](Buf& buf) {
                auto& request = static_cast<Request&>(buf);
                request.storm->ended(request);
            };
        }
    }

    /// Runs on the lane's worker. The request that ends last reports the end.
    void begin() {
        under_way_ = all_.size();
        for (auto& one : all_) next(*one);
    }
    void wait() { over_.get_future().get(); }

    std::array<uint64_t, Buf::op_count> done{};
    bool on_one_thread = true;

  private:
    struct Request : Buf {
        Storm* storm = nullptr;
        std::vector<std::byte> memory;
    };

    void next(Request& request) {
        if (left_ == 0) {
            if (--under_way_ == 0) over_.set_value();
            return;
        }
        --left_;
        const auto draw = random_() % 100;
        request.op = draw < 45   ? Buf::Op::read
                     : draw < 85 ? Buf::Op::write
                     : draw < 90 ? Buf::Op::trim
                     : draw < 95 ? Buf::Op::write_zeroes
                                 : Buf::Op::flush;
        request.offset = random_() % 1000 * 4096;
        request.bcount = request.op == Buf::Op::flush ? 0 : 4096;
        request.data = request.memory.data();
        device_.strategy(request, lane_);
    }

    void ended(Request& request) {
        EXPECT_EQ(request.error, 0);
        ++done[static_cast<size_t>(request.op)];
        if (thread_ == std::thread::id{}) thread_ = std::this_thread::get_id();
        on_one_thread = on_one_thread && thread_ == std::this_thread::get_id();
        next(request);
    }

    Device& device_;
    Lane& lane_;
    std::mt19937 random_;
    uint64_t left_;
    size_t under_way_ = 0;
    std::array<std::unique_ptr<Request>, 12> all_;
    std::thread::id thread_;
    std::promise<void> over_;
};

TEST_P(LanesOf, AStormFromTwoWorkersIsCountedToTheLastRequest) {
    make_real(5);  // fewer than both lanes have: they wait for each other
    constexpr uint64_t each = 6000;
    Storm of_a(*device_, device_->first_lane(), 1, each);
    Storm of_b(*device_, *lane_b_, 2, each);
    a_.run([&] { of_a.begin(); });
    b_.run([&] { of_b.begin(); });
    // Meanwhile a reader sees times that only grow, and never more running than the depth.
    std::atomic<bool> over{false};
    std::thread reader([&] {
        kstat_io_t last{};
        while (!over) {
            const auto data = read_data("nbd", device_->name());
            kstat_io_t io{};
            ASSERT_EQ(data.size(), sizeof io);
            std::memcpy(&io, data.data(), sizeof io);
            EXPECT_GE(io.rlentime, last.rlentime);
            EXPECT_GE(io.wlentime, last.wlentime);
            EXPECT_LE(io.rcnt, 5u);
            last = io;
        }
    });
    of_a.wait();
    of_b.wait();
    over = true;
    reader.join();
    settle();
    const auto total = [&](Buf::Op op) {
        return of_a.done[static_cast<size_t>(op)] + of_b.done[static_cast<size_t>(op)];
    };
    EXPECT_TRUE(of_a.on_one_thread && of_b.on_one_thread);
    const kstat_io_t& io = device_->io();
    EXPECT_EQ(io.reads, total(Buf::Op::read));
    EXPECT_EQ(io.writes, total(Buf::Op::write));
    EXPECT_EQ(io.nread, total(Buf::Op::read) * 4096);
    EXPECT_EQ(io.nwritten, total(Buf::Op::write) * 4096);
    EXPECT_EQ(io.wcnt + io.rcnt, 0u);
    const auto& counts = device_->histograms().counts();
    if (device_->histograms().on()) {
        EXPECT_EQ(std::reduce(counts.latency.begin(), counts.latency.end()),
                  total(Buf::Op::read) + total(Buf::Op::write));
    }
    EXPECT_EQ(std::accumulate(of_a.done.begin(), of_a.done.end(), uint64_t{0}) +
                  std::accumulate(of_b.done.begin(), of_b.done.end(), uint64_t{0}),
              2 * each);
}

INSTANTIATE_TEST_SUITE_P(Backings, LanesOf, ::testing::Values("memory:4M", "file"),
                         [](const auto& which) {
                             return std::string(which.param).substr(0, 4) == "file" ? "File"
                                                                                    : "Memory";
                         });

}  // namespace
}  // namespace blkscope
