// A log on a device that loses its power, on the simulated kernel in virtual time. All records that
// the log has committed are there after each of ten thousand crashes.
//
//     block 0, 1: checkpoints by turns, each with FUA: the first record that counts
//     block 2 ..: records in a circle. A record has its number, the sum of the record before, and
//                 its own sum
//
//     append ─▶ several writes under way ─▶ commit: a flush, or a last record with FUA
//     crash ──▶ read the newest checkpoint, then records as far as the sums fit
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/splitmix64.hpp"
#include "blockdev/backing/crash_backing.hpp"
#include "blockdev/backing/memory_backing.hpp"
#include "blockdev/device/device.hpp"
#include "blockdev/ring/ring.hpp"
#include "random.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t crash_stream = 0x63726173;
constexpr uint64_t blocks = 34;
constexpr uint64_t slots = blocks - 2;
constexpr uint64_t unsaved_max = slots / 2;  // records since the checkpoint
constexpr hrtime_t turn_ns = 500;
constexpr hrtime_t crash_us = 1'000;

/// The content of a block. The rest of the block is filled by `sum`, so that a tear shows.
struct Record {
    uint64_t number = 0;    // of a checkpoint: the first record that counts
    uint64_t previous = 0;  // the sum of the record before
    uint64_t payload = 0;   // of a checkpoint: its number

    [[nodiscard]] uint64_t sum() const {
        return splitmix64(splitmix64(splitmix64(number) ^ previous) ^ payload);
    }
};

using Page = std::array<std::byte, page_bytes>;

void write_to(Page& page, const Record& record) {
    for (uint64_t at = sizeof record; at < page.size(); at += sizeof(uint64_t)) {
        const uint64_t word = splitmix64(record.sum() + at);
        std::memcpy(page.data() + at, &word, sizeof word);
    }
    std::memcpy(page.data(), &record, sizeof record);
}

// Nothing for a block that is torn or was never written.
std::optional<Record> record_in(const Page& page) {
    Record record;
    Page whole;
    std::memcpy(&record, page.data(), sizeof record);
    write_to(whole, record);
    return page == whole ? std::optional(record) : std::nullopt;
}

/// A device with a crash cache, and a log on it.
class LoggedDevice {
  public:
    LoggedDevice(uint64_t seed, model::CrashCacheOptions options, DeviceOptions device)
        : random_(seed, crash_stream), kernel_(timeline_, seed) {
        options.seed = seed;
        ring_ = std::make_unique<Ring>(64, false, kernel_);
        kernel_.when_ready(0, [this] { turn(); });
        ring_->enable();
        auto crash = std::make_unique<CrashBacking>(
            std::make_unique<MemoryBacking>(blocks * page_bytes), options);
        cache_ = crash->cache();
        device_ = std::make_unique<Device>(*ring_, std::move(crash), std::nullopt, device);
        sleep();
        save();
    }
    ~LoggedDevice() {
        device_.reset();
        ring_.reset();
    }
    LoggedDevice(const LoggedDevice&) = delete;
    LoggedDevice& operator=(const LoggedDevice&) = delete;

    /// Appends and commits for a while, up to a loss of power at any moment.
    void live() {
        const uint64_t steps = random_.between(1, 12);
        for (uint64_t step = 0; step < steps; ++step) {
            if (next_ - first_ >= unsaved_max) save();
            const uint64_t records = random_.between(1, 4);
            for (uint64_t i = 0; i < records; ++i) append();
            if (random_.one_in(2)) commit();
        }
        const uint64_t started = random_.below(4);
        for (uint64_t i = 0; i < started; ++i) append();
        if (random_.one_in(3)) send(Buf::Op::flush, 0);
        run_for(static_cast<hrtime_t>(random_.below(100)) * crash_us);
        lose_power();
    }

    /// Whether all committed records are there, and none was invented. The log goes on with these.
    bool recover() {
        const auto newest = newest_checkpoint();
        if (!newest || newest->number != first_) return false;
        uint64_t number = first_;
        uint64_t previous = newest->previous;
        for (; number < next_; ++number) {
            const auto record = record_in(read(slot_of(number)));
            if (!record || record->number != number || record->previous != previous) break;
            if (record->payload != payloads_.at(number)) return false;
            previous = record->sum();
        }
        if (number <= committed_) return false;
        kept_ += number - (committed_ + 1);
        next_ = number;
        committed_ = number - 1;
        last_sum_ = previous;
        return true;
    }

    /// Records that were not committed and survived.
    [[nodiscard]] uint64_t kept() const { return kept_; }
    [[nodiscard]] const model::CrashCache::Survival& lost() const { return lost_; }
    [[nodiscard]] uint64_t hash() const { return timeline_.hash(); }

  private:
    struct Request : Buf {
        LoggedDevice* owner = nullptr;
        bool out = false;
        Page page{};

        [[nodiscard]] bool wanted() const override { return owner->power_; }
    };

    static uint64_t slot_of(uint64_t number) { return 2 + number % slots; }

    Request& send(Buf::Op op, uint64_t block, const Record& record = {}, bool fua = false) {
        Request& request = *requests_.emplace_back(std::make_unique<Request>());
        request.owner = this;
        request.op = op;
        request.fua = fua;
        request.offset = op == Buf::Op::flush ? 0 : block * page_bytes;
        request.bcount = op == Buf::Op::flush ? 0 : page_bytes;
        request.data = request.page.data();
        request.iodone = [](Buf& buf) {
            auto& ended = static_cast<Request&>(buf);
            ended.out = false;
            --ended.owner->out_;
        };
        if (op == Buf::Op::write) write_to(request.page, record);
        request.out = true;
        ++out_;
        device_->strategy(request);
        sleep();
        return request;
    }
    void append(bool fua = false) {
        assert(next_ - first_ < slots);
        payloads_.resize(next_);
        payloads_.push_back(random_.next());
        const Record record{next_, last_sum_, payloads_.back()};
        send(Buf::Op::write, slot_of(next_), record, fua);
        ++next_;
        last_sum_ = record.sum();
    }
    /// All records so far are durable afterwards.
    void commit() {
        finish();
        if (random_.one_in(2)) {
            send(Buf::Op::flush, 0);
            finish();
            if (random_.one_in(2)) append(true);
        } else {
            send(Buf::Op::flush, 0);
        }
        finish();
        committed_ = next_ - 1;
    }
    /// All but the last records count no more, so that their slots can be used again.
    void save() {
        commit();
        const uint64_t first = next_ - std::min(random_.below(8), next_ - first_);
        uint64_t previous = last_sum_;
        if (first < next_) {
            const auto record = record_in(read(slot_of(first)));
            ASSERT_TRUE(record);
            previous = record->previous;
        }
        ++checkpoints_;
        send(Buf::Op::write, checkpoints_ % 2, {first, previous, checkpoints_}, true);
        finish();
        first_ = first;
    }
    std::optional<Record> newest_checkpoint() {
        const auto one = record_in(read(0));
        const auto other = record_in(read(1));
        if (!one || !other) return one ? one : other;
        return one->payload > other->payload ? one : other;
    }
    Page read(uint64_t block) {
        const Request& request = send(Buf::Op::read, block);
        while (request.out) step();
        return request.page;
    }

    // The order of driver/nbd/server/power_loss.cpp.
    void lose_power() {
        power_ = false;
        device_->power_off();
        device_->abandon(device_->first_lane());
        sleep();
        finish();
        const auto survival = cache_->lose_power();
        ASSERT_TRUE(survival);
        lost_.blocks += survival->blocks;
        lost_.durable += survival->durable;
        lost_.torn += survival->torn;
        device_->power_on();
        power_ = true;
    }

    void finish() {
        while (out_ > 0) step();
        requests_.clear();
    }
    void step() {
        const bool stepped = timeline_.step();
        assert(stepped);
    }
    void run_for(hrtime_t ns) {
        bool over = false;
        timeline_.after(ns, [&over] { over = true; });
        while (!over) step();
    }
    void turn() {
        ring_->dispatch();
        sleep();
    }
    void sleep() {
        timeline_.spend(turn_ns);
        ring_->wait();
        if (!kernel_.asleep(0)) timeline_.after(turn_ns, [this] { turn(); });
    }

    Timeline timeline_;
    Random random_;
    SimulatedKernel kernel_;
    std::unique_ptr<Ring> ring_;
    std::shared_ptr<VolatileCache> cache_;
    std::unique_ptr<Device> device_;
    std::vector<std::unique_ptr<Request>> requests_;
    unsigned out_ = 0;
    bool power_ = true;

    std::vector<uint64_t> payloads_;  // by number
    uint64_t first_ = 1;              // by the last checkpoint
    uint64_t next_ = 1;
    uint64_t committed_ = 0;
    uint64_t last_sum_ = 0;
    uint64_t checkpoints_ = 0;
    uint64_t kept_ = 0;
    model::CrashCache::Survival lost_;
};

DeviceOptions slow_device() {
    Behaviour behaviour;
    behaviour.model = model::ModelSpec::parse("all=exp:20us,servers=2", {});
    return {.queue_depth = 4, .behaviour = std::move(behaviour)};
}

constexpr uint64_t seeds = BLKSCOPE_SANITIZED ? 2 : 20;
constexpr uint64_t crashes = 500;  // of a seed

// The caches are large, or so small that most crashes meet blocks that were written back.
model::CrashCacheOptions cache_of(uint64_t seed) {
    model::CrashCacheOptions options{.size_bytes = seed % 2 == 0 ? 1 << 20 : 4 * page_bytes};
    if (seed % 3 == 0) options.block_bytes = model::CrashCacheOptions::sector_bytes;
    return options;
}

TEST(Crash, ALogKeepsAllThatItCommittedThroughTenThousandCrashes) {
    model::CrashCache::Survival lost;
    uint64_t kept = 0;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        LoggedDevice log(seed, cache_of(seed), slow_device());
        for (uint64_t crash = 0; crash < crashes; ++crash) {
            log.live();
            ASSERT_TRUE(log.recover()) << "seed " << seed << ", crash " << crash;
        }
        lost.blocks += log.lost().blocks;
        lost.durable += log.lost().durable;
        lost.torn += log.lost().torn;
        kept += log.kept();
    }
    EXPECT_GT(lost.blocks, seeds * crashes);
    EXPECT_GT(lost.durable, seeds * crashes / 4);
    EXPECT_GT(lost.torn, seeds * crashes / 10);
    EXPECT_GT(kept, seeds * crashes / 10);
}

// The same log finds the disk that lies.
TEST(Crash, ALogLosesCommittedRecordsOnADiskThatLies) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        model::CrashCacheOptions options = cache_of(seed);
        options.ignores_flush = true;
        LoggedDevice log(seed, options, slow_device());
        uint64_t crash = 0;
        do {
            log.live();
            ASSERT_LT(crash++, 20u) << "seed " << seed;
        } while (log.recover());
    }
}

TEST(Crash, ALifeRepeats) {
    const auto hash_of = [](uint64_t seed) {
        LoggedDevice log(seed, cache_of(seed), slow_device());
        for (int crash = 0; crash < 50; ++crash) {
            log.live();
            EXPECT_TRUE(log.recover());
        }
        return log.hash();
    };
    EXPECT_EQ(hash_of(3), hash_of(3));
    EXPECT_NE(hash_of(3), hash_of(4));
}

}  // namespace
}  // namespace blkscope::simulation
