// DeviceTest: a device over a scripted backing, and its kstats as a reader of this process gets
// them.
// The test runs the ring.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"
#include "blockdev/device/device.hpp"
#include "kstat/provider/instance.hpp"
#include "kstat/registry/operations.hpp"
#include "scripted_backing.hpp"

namespace blkscope {

inline constexpr uint64_t device_bytes = uint64_t{1} << 20;

struct TestBuf : Buf {
    explicit TestBuf(Op what, uint64_t at = 0, uint32_t bytes = 4096) {
        op = what;
        offset = at;
        bcount = op == Op::flush ? 0 : bytes;
        iodone = [](Buf& buf) { ++static_cast<TestBuf&>(buf).done; };
    }
    int done = 0;
};

/// The data of a kstat of this process, as a reader would get it; empty if there is none.
inline std::vector<std::byte> read_data(const char* module, const std::string& name) {
    kstat::Name full{};
    kstat_set_string(full.module, module);
    kstat_set_string(full.name, name.c_str());
    auto& chain = kstat::Chain::of_this_process();
    kid_t kid = 0;
    {
        const auto held = chain.hold(full, ALL_ZONES);
        if (!held) return {};
        kid = held->get()->ks_kid;
    }
    const auto data = kstat::read_kstat(chain, kid).data;
    return {data.begin(), data.end()};
}

class DeviceTest : public testing::Test {
  protected:
    void SetUp() override {
        ring_ = std::make_unique<Ring>(32);
        ring_->enable();
    }

    void TearDown() override { device_.reset(); }

    void make(uint32_t depth, uint32_t block_bytes = 1, uint32_t stats_rate = 0) {
        auto backing = std::make_unique<ScriptedBacking>(device_bytes, block_bytes);
        backing_ = backing.get();
        give(std::move(backing), depth, stats_rate);
    }

    void finish_first(int32_t result) {
        backing_->finish_first(result);
        ring_->dispatch();
    }

    void give(std::unique_ptr<Backing> backing, uint32_t depth, uint32_t stats_rate = 0) {
        give(std::move(backing), DeviceOptions{.queue_depth = depth, .stats_rate = stats_rate});
    }
    void give(std::unique_ptr<Backing> backing, DeviceOptions options) {
        device_ = std::make_unique<Device>(*ring_, std::move(backing), kstat::claim_instance("nbd"),
                                           std::move(options));
    }

    /// The data of a kstat with fixed records, or its record `index`.
    template <class Record>
    static Record read_record(const std::string& name, size_t index = 0) {
        const auto data = read_data("nbd", name);
        Record record{};
        if (data.size() < (index + 1) * sizeof record) {
            ADD_FAILURE() << "no record " << index << " in kstat " << name;
        } else {
            std::memcpy(&record, data.data() + index * sizeof record, sizeof record);
        }
        return record;
    }

    const test::RunFolder directory_;
    std::unique_ptr<Ring> ring_;
    ScriptedBacking* backing_ = nullptr;
    std::unique_ptr<Device> device_;
};

}  // namespace blkscope
