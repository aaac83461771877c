// Bench: a device with a lane for each ring, on the simulated kernel in virtual time.
//
//     at(moment, send) ─▶ Timeline ─▶ Device on SimulatedKernel ─▶ requests() with their stamps
//
// Units:     nanoseconds, which are the ticks; bytes.
// Ownership: owns everything.
// Threads:   one.
// Errors:    failed expectations of googletest.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "blockdev/backing/memory_backing.hpp"
#include "blockdev/device/device.hpp"
#include "blockdev/ring/ring.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {

inline constexpr uint64_t device_bytes = uint64_t{1} << 20;
inline constexpr hrtime_t turn_ns = 500;

/// A device with one lane a ring, and the requests of a test.
class Bench {
  public:
    struct Request : Buf {
        Bench* bench = nullptr;
        size_t lane = 0;
        int done = 0;
        bool is_wanted = true;
        std::vector<std::byte> bytes;

        [[nodiscard]] bool wanted() const override { return is_wanted; }
    };

    Bench(uint64_t seed, size_t rings, DeviceOptions options) : kernel_(timeline_, seed) {
        for (size_t i = 0; i < rings; ++i) {
            const unsigned number = kernel_.rings();
            rings_.push_back(std::make_unique<Ring>(64, false, kernel_));
            kernel_.when_ready(number, [this, i] { turn(i); });
            rings_[i]->enable();
        }
        device_ =
            std::make_unique<Device>(*rings_[0], std::make_unique<MemoryBacking>(device_bytes),
                                     std::nullopt, std::move(options));
        lanes_.resize(rings);
        for (size_t i = 1; i < rings; ++i) open_lane(i);
        for (size_t i = 0; i < rings; ++i) wait(i);
    }
    ~Bench() {
        for (size_t i = 1; i < lanes_.size(); ++i) close_lane(i);
        device_.reset();
        for (auto& ring : rings_) ring.reset();
        EXPECT_EQ(kernel_.open_descriptors(), 0u);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    [[nodiscard]] Device& device() { return *device_; }
    [[nodiscard]] const std::vector<std::unique_ptr<Request>>& requests() const {
        return requests_;
    }
    [[nodiscard]] uint64_t hash() const { return timeline_.hash(); }
    [[nodiscard]] const Kernel& kernel() const { return kernel_; }

    void at(hrtime_t delay, std::function<void()> action) {
        timeline_.after(delay, std::move(action));
    }

    void send(size_t lane, Buf::Op op, uint64_t offset = 0, uint64_t bytes = 4096) {
        auto& request = *requests_.emplace_back(std::make_unique<Request>());
        request.bench = this;
        request.lane = lane;
        request.op = op;
        request.offset = op == Buf::Op::flush ? 0 : offset;
        request.bcount = op == Buf::Op::flush ? 0 : bytes;
        request.bytes.resize(bytes);
        request.data = request.bytes.data();
        request.iodone = [](Buf& buf) {
            auto& ended = static_cast<Request&>(buf);
            ++ended.done;
            --ended.bench->out_;
        };
        ++out_;
        device_->strategy(request, this->lane(lane));
        wait(lane);
    }

    /// The clients of the lane have closed their connections.
    void abandon(size_t lane) {
        for (auto& request : requests_) {
            if (request->lane == lane && request->done == 0) request->is_wanted = false;
        }
        device_->abandon(this->lane(lane));
        wait(lane);
    }
    [[nodiscard]] bool is_idle(size_t lane) const {
        return std::all_of(requests_.begin(), requests_.end(), [&](const auto& request) {
            return request->lane != lane || request->done > 0;
        });
    }
    void open_lane(size_t lane) {
        lanes_[lane] = device_->open_lane(*rings_[lane]);
        rings_[lane]->unlock();
    }
    void close_lane(size_t lane) { lanes_[lane].reset(); }

    /// Runs until all events have happened and all requests are done, or for `limit`.
    void run(hrtime_t limit) {
        const hrtime_t end = timeline_.now() + limit;
        while (timeline_.now() < end && timeline_.step()) {
        }
        ASSERT_EQ(out_, 0) << "requests are not done";
    }

    /// The sums of the stays are what the device has counted, to the tick.
    void check_accounting() const {
        hrtime_t waited = 0;
        hrtime_t ran = 0;
        for (const auto& request : requests_) {
            EXPECT_EQ(request->done, 1);
            EXPECT_LE(request->queued, request->started);
            EXPECT_LE(request->started, request->finished);
            if (!request->in_queues()) continue;
            waited += request->started - request->queued;
            ran += request->finished - request->started;
        }
        EXPECT_EQ(device_->io().wlentime, waited);
        EXPECT_EQ(device_->io().rlentime, ran);
        EXPECT_EQ(device_->io().wcnt, 0u);
        EXPECT_EQ(device_->io().rcnt, 0u);
    }

  private:
    Lane& lane(size_t number) { return number == 0 ? device_->first_lane() : *lanes_[number]; }
    void turn(size_t ring) {
        rings_[ring]->dispatch();
        wait(ring);
    }
    void wait(size_t ring) {
        timeline_.spend(turn_ns);
        rings_[ring]->wait();
        if (kernel_.asleep(static_cast<unsigned>(ring))) return;
        timeline_.after(turn_ns, [this, ring] { turn(ring); });
    }

    Timeline timeline_;
    SimulatedKernel kernel_;
    std::vector<std::unique_ptr<Ring>> rings_;
    std::vector<std::unique_ptr<Lane>> lanes_;  // the first is the device's own, and empty here
    std::unique_ptr<Device> device_;
    std::vector<std::unique_ptr<Request>> requests_;
    int out_ = 0;
};

}  // namespace blkscope::simulation
