// The provider's functions, and what a reader that looks at any moment may see of them.
#include <gtest/gtest.h>
#include <sys/bio.h>
#include <sys/devicestat.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../temporary_folder.hpp"
#include "devstat/entries/bintime.hpp"
#include "devstat/entries/entry.hpp"
#include "devstat/entries/observe.hpp"
#include "kstat/registry/operations.hpp"

namespace blkscope {
namespace {

using devstat::Devstat;

constexpr hrtime_t one_ms = 1'000'000;

/// An entry in a run directory of its own.
class DevstatTransactions : public testing::Test {
  protected:
    void SetUp() override {
        ds_ = make("vbd", 7);
        ASSERT_NE(ds_, nullptr);
    }

    void TearDown() override { devstat_remove_entry(ds_); }

    static Devstat* make(const char* name, int unit,
                         devstat_support_flags flags = DEVSTAT_ALL_SUPPORTED) {
        return devstat_new_entry(name, unit, 4096, flags, DEVSTAT_TYPE_DIRECT,
                                 DEVSTAT_PRIORITY_DISK);
    }

    static bintime at(hrtime_t ns) { return devstat::bintime_of(ns); }
    static hrtime_t ns(const bintime& time) { return devstat::ns_of(time); }

    void start(hrtime_t now) {
        const bintime time = at(now);
        devstat_start_transaction(ds_, &time);
    }

    void end(uint32_t bytes, devstat_trans_flags kind, hrtime_t now, hrtime_t then,
             devstat_tag_type tag = DEVSTAT_TAG_SIMPLE) {
        const bintime end_time = at(now);
        const bintime start_time = at(then);
        devstat_end_transaction(ds_, bytes, tag, kind, &end_time, &start_time);
    }

    /// The bytes that a reader gets of a kstat of this name; none if there is no such kstat.
    static std::vector<std::byte> read(const char* name, int unit) {
        kstat::Name full{};
        kstat_set_string(full.module, devstat::kstat_module);
        full.instance = unit;
        kstat_set_string(full.name, name);
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

    static devstat::Record read_record(const char* name, int unit) {
        const auto data = read(name, unit);
        devstat::Record record;
        EXPECT_EQ(data.size(), sizeof record);
        if (data.size() == sizeof record) {
            std::copy(data.begin(), data.end(), reinterpret_cast<std::byte*>(&record));
        }
        return record;
    }

    const test::RunFolder directory_;
    Devstat* ds_ = nullptr;
};

TEST_F(DevstatTransactions, AnEntryTellsWhoItIs) {
    const devstat::Record record = read_record("vbd7,devstat", 7);
    EXPECT_EQ(record.version, 6u);
    EXPECT_EQ(record.size, 288u);
    EXPECT_STREQ(record.entry.device_name, "vbd");
    EXPECT_EQ(record.entry.unit_number, 7);
    EXPECT_EQ(record.entry.allocated, 1);
    EXPECT_EQ(record.entry.block_size, 4096u);
    EXPECT_EQ(record.entry.priority, DEVSTAT_PRIORITY_DISK);
    EXPECT_GT(ns(record.entry.creation_time), 0);
    EXPECT_EQ(record.entry.sequence0, 0u);
    EXPECT_EQ(record.entry.id, nullptr);
}

TEST_F(DevstatTransactions, ALongNameIsCut) {
    Devstat* const other = make("a_driver_with_a_long_name", 0);
    EXPECT_STREQ(other->device_name, "a_driver_with_a");
    EXPECT_EQ(read("a_driver_with_a0,devstat", 0).size(), sizeof(devstat::Record));
    devstat_remove_entry(other);
    EXPECT_TRUE(read("a_driver_with_a0,devstat", 0).empty());
}

TEST_F(DevstatTransactions, NumbersAscendAndAreNotUsedAgain) {
    Devstat* const second = make("vbd", 8);
    EXPECT_EQ(second->device_number, ds_->device_number + 1);
    devstat_remove_entry(second);
    Devstat* const third = make("vbd", 8);
    EXPECT_EQ(third->device_number, ds_->device_number + 2);
    devstat_remove_entry(third);
}

TEST_F(DevstatTransactions, TwoEntriesMayHaveOneName) {
    Devstat* const twin = make("vbd", 7);
    ASSERT_NE(twin, nullptr);
    EXPECT_NE(twin, ds_);
    EXPECT_EQ(twin->unit_number, 7);
    devstat_remove_entry(twin);
}

TEST_F(DevstatTransactions, AnEntryWithoutANameHasAnIdAndNoNumber) {
    static int geom;
    Devstat* const entry = devstat_new_entry(&geom, -1, 512, DEVSTAT_ALL_SUPPORTED,
                                             DEVSTAT_TYPE_DIRECT, DEVSTAT_PRIORITY_MAX);
    EXPECT_EQ(entry->unit_number, -1);
    EXPECT_EQ(entry->id, &geom);
    EXPECT_STREQ(entry->device_name, "");
    Devstat* const next = make("vbd", 9);
    EXPECT_EQ(next->device_number, ds_->device_number + 1);
    devstat_remove_entry(next);
    devstat_remove_entry(entry);
}

TEST_F(DevstatTransactions, CountEachKindForItself) {
    start(1000 * one_ms);
    end(4096, DEVSTAT_READ, 1010 * one_ms, 1000 * one_ms);
    start(1020 * one_ms);
    end(512, DEVSTAT_WRITE, 1025 * one_ms, 1020 * one_ms, DEVSTAT_TAG_ORDERED);
    start(1030 * one_ms);
    end(0, DEVSTAT_NO_DATA, 1031 * one_ms, 1030 * one_ms, DEVSTAT_TAG_NONE);
    start(1040 * one_ms);
    end(65536, DEVSTAT_FREE, 1042 * one_ms, 1040 * one_ms, DEVSTAT_TAG_HEAD);
    const Devstat entry = read_record("vbd7,devstat", 7).entry;
    EXPECT_EQ(entry.bytes[DEVSTAT_READ], 4096u);
    EXPECT_EQ(entry.bytes[DEVSTAT_WRITE], 512u);
    EXPECT_EQ(entry.bytes[DEVSTAT_NO_DATA], 0u);
    EXPECT_EQ(entry.bytes[DEVSTAT_FREE], 65536u);
    for (const uint64_t operations : entry.operations) EXPECT_EQ(operations, 1u);
    for (const uint64_t tags : entry.tag_types) EXPECT_EQ(tags, 1u);
    EXPECT_EQ(ns(entry.duration[DEVSTAT_READ]), 10 * one_ms);
    EXPECT_EQ(ns(entry.duration[DEVSTAT_WRITE]), 5 * one_ms);
    EXPECT_EQ(ns(entry.duration[DEVSTAT_NO_DATA]), 1 * one_ms);
    EXPECT_EQ(ns(entry.duration[DEVSTAT_FREE]), 2 * one_ms);
    EXPECT_EQ(ns(entry.busy_time), 18 * one_ms);
    EXPECT_EQ(entry.start_count, 4u);
    EXPECT_EQ(entry.end_count, 4u);
    EXPECT_EQ(entry.sequence0, 8u);
    EXPECT_EQ(entry.sequence1, 8u);
}

TEST_F(DevstatTransactions, BusyTimeIsPaidAtEachEnd) {
    start(100 * one_ms);
    start(150 * one_ms);
    EXPECT_EQ(ns(ds_->busy_time), 0);
    EXPECT_EQ(ns(ds_->busy_from), 100 * one_ms);
    end(1, DEVSTAT_READ, 170 * one_ms, 100 * one_ms);
    EXPECT_EQ(ns(ds_->busy_time), 70 * one_ms);
    EXPECT_EQ(ns(ds_->busy_from), 170 * one_ms);
    end(1, DEVSTAT_READ, 200 * one_ms, 150 * one_ms);
    EXPECT_EQ(ns(ds_->busy_time), 100 * one_ms);
    start(900 * one_ms);  // idle in between
    EXPECT_EQ(ns(ds_->busy_from), 900 * one_ms);
    EXPECT_EQ(ds_->start_count - ds_->end_count, 1u);
}

TEST_F(DevstatTransactions, TagsAreNotCountedWhereTheDeviceHasNone) {
    Devstat* const plain = make("plain", 0, DEVSTAT_NO_ORDERED_TAGS);
    devstat_start_transaction(plain, nullptr);
    devstat_end_transaction(plain, 1, DEVSTAT_TAG_SIMPLE, DEVSTAT_READ, nullptr, nullptr);
    EXPECT_EQ(plain->tag_types[DEVSTAT_TAG_SIMPLE], 0u);
    EXPECT_EQ(plain->operations[DEVSTAT_READ], 1u);
    EXPECT_EQ(ns(plain->duration[DEVSTAT_READ]), 0);
    devstat_remove_entry(plain);
}

TEST_F(DevstatTransactions, WithoutATimeTheClockIsRead) {
    const hrtime_t before = gethrtime();
    devstat_start_transaction(ds_, nullptr);
    const hrtime_t from = ns(ds_->busy_from);
    EXPECT_GE(from, before);
    devstat_end_transaction(ds_, 0, DEVSTAT_TAG_NONE, DEVSTAT_NO_DATA, nullptr, nullptr);
    EXPECT_GE(ns(ds_->busy_from), from);
    EXPECT_LE(ns(ds_->busy_from), gethrtime());
}

TEST_F(DevstatTransactions, ABioSaysWhatItWas) {
    const struct {
        uint16_t command;
        uint8_t zone_command;
        devstat_trans_flags kind;
    } cases[] = {
        {BIO_READ, 0, DEVSTAT_READ},       {BIO_WRITE, 0, DEVSTAT_WRITE},
        {BIO_DELETE, 0, DEVSTAT_FREE},     {BIO_FLUSH, 0, DEVSTAT_NO_DATA},
        {BIO_GETATTR, 0, DEVSTAT_NO_DATA}, {BIO_CMD1, 0, DEVSTAT_NO_DATA},
        {BIO_ZONE, 1, DEVSTAT_NO_DATA},    {BIO_ZONE, DISK_ZONE_REPORT_ZONES, DEVSTAT_READ}};
    for (const auto& c : cases) {
        const Devstat before = *ds_;
        bio request{};
        request.bio_cmd = c.command;
        request.bio_zone.zone_cmd = c.zone_command;
        request.bio_bcount = 4096;
        request.bio_resid = 1024;
        devstat_start_transaction_bio(ds_, &request);
        EXPECT_EQ(ns(request.bio_t0), ns(ds_->busy_from));
        const bintime later = devstat::sum(request.bio_t0, at(3 * one_ms));
        devstat_end_transaction_bio_bt(ds_, &request, &later);
        EXPECT_EQ(ds_->operations[c.kind], before.operations[c.kind] + 1) << c.command;
        EXPECT_EQ(ds_->bytes[c.kind], before.bytes[c.kind] + 3072);
        EXPECT_EQ(ns(devstat::difference(ds_->duration[c.kind], before.duration[c.kind])),
                  3 * one_ms);
        EXPECT_EQ(ds_->tag_types[DEVSTAT_TAG_SIMPLE], before.tag_types[DEVSTAT_TAG_SIMPLE] + 1);
    }
}

TEST_F(DevstatTransactions, AnOrderedBioIsOrdered) {
    bio request{};
    request.bio_cmd = BIO_WRITE;
    request.bio_flags = BIO_ORDERED;
    request.bio_t0 = at(500 * one_ms);
    devstat_start_transaction_bio_t0(ds_, &request);
    EXPECT_EQ(ns(ds_->busy_from), 500 * one_ms);
    devstat_end_transaction_bio(ds_, &request);
    EXPECT_EQ(ds_->tag_types[DEVSTAT_TAG_ORDERED], 1u);
}

TEST_F(DevstatTransactions, NoEntryIsNoFailure) {
    bio request{};
    devstat_start_transaction(nullptr, nullptr);
    devstat_start_transaction_bio(nullptr, &request);
    devstat_start_transaction_bio_t0(nullptr, &request);
    devstat_end_transaction(nullptr, 1, DEVSTAT_TAG_NONE, DEVSTAT_READ, nullptr, nullptr);
    devstat_end_transaction_bio(nullptr, &request);
    devstat_end_transaction_bio_bt(nullptr, &request, nullptr);
    devstat_remove_entry(nullptr);
    EXPECT_EQ(ns(request.bio_t0), 0);
}

// A writer at full speed: whatever the moment, a copy whose sequences agree is of one moment.
TEST_F(DevstatTransactions, ACopyWithEqualSequencesIsNeverTorn) {
    // A sanitizer is up to a hundred times slower.
    constexpr int accepted_min = BLKSCOPE_SANITIZED ? 20'000 : 2'000'000;
    std::atomic<bool> done{false};
    std::thread writer([&] {
        for (hrtime_t now = 0; !done; now += 2) {
            start(now);
            end(512, DEVSTAT_WRITE, now + 1, now);
        }
    });
    int accepted = 0;
    uint64_t last = 0;
    Devstat copy{};
    while (accepted < accepted_min) {
        if (!devstat::observe_counters(*ds_, copy)) continue;
        ++accepted;
        const uint64_t operations = copy.operations[DEVSTAT_WRITE];
        const auto ends = static_cast<unsigned>(operations);
        ASSERT_EQ(copy.bytes[DEVSTAT_WRITE], operations * 512);
        ASSERT_EQ(copy.end_count, ends);
        ASSERT_LE(copy.start_count - copy.end_count, 1u);
        ASSERT_EQ(copy.sequence0, copy.start_count + copy.end_count);
        ASSERT_EQ(copy.tag_types[DEVSTAT_TAG_SIMPLE], operations);
        ASSERT_EQ(ns(copy.busy_time), ns(copy.duration[DEVSTAT_WRITE]));
        ASSERT_GE(operations, last);
        last = operations;
    }
    done = true;
    writer.join();
}

// Starts on one thread, ends on another: nothing is lost, and nothing is in flight at the end.
TEST_F(DevstatTransactions, StartsMayComeFromOtherThreads) {
    constexpr unsigned each = 20'000;
    std::atomic<unsigned> started{0};
    std::vector<std::thread> starters;
    for (int i = 0; i < 2; ++i) {
        starters.emplace_back([&] {
            for (unsigned n = 0; n < each; ++n) {
                devstat_start_transaction(ds_, nullptr);
                ++started;
            }
        });
    }
    for (unsigned ended = 0; ended < 2 * each;) {
        if (ended == started) continue;
        devstat_end_transaction(ds_, 1, DEVSTAT_TAG_SIMPLE, DEVSTAT_READ, nullptr, nullptr);
        ++ended;
    }
    for (std::thread& starter : starters) starter.join();
    const Devstat entry = read_record("vbd7,devstat", 7).entry;
    EXPECT_EQ(entry.start_count, 2 * each);
    EXPECT_EQ(entry.end_count, 2 * each);
    EXPECT_EQ(entry.bytes[DEVSTAT_READ], 2 * each);
    EXPECT_EQ(entry.sequence0, entry.sequence1);
}

// A writer that is stopped in the middle of an update: readers get what is there, and see that.
TEST_F(DevstatTransactions, AnUpdateThatNeverEndsShowsInTheSequences) {
    ++ds_->sequence1;
    const Devstat entry = read_record("vbd7,devstat", 7).entry;
    EXPECT_EQ(entry.sequence1, entry.sequence0 + 1);
}

}  // namespace
}  // namespace blkscope
