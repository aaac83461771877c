// The statistics of a device's requests, as a reader of its kstat sees them.
#include "blockdev/accounting/io_stats.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "device_fixture.hpp"
#include "kstat/registry/chain.hpp"
#include "kstat/registry/operations.hpp"

namespace blkscope {
namespace {

void done(IoStats& stats, const IoStats::Request& request) {
    if (stats.due()) stats.take(request);
}

class BlobReader {
  protected:
    // The kstat stats:0:nbd0, in memory with the alignment of a blob.
    statsblob* read() {
        kstat::Name full{};
        kstat_set_string(full.module, "stats");
        kstat_set_string(full.name, "nbd0");
        auto& chain = kstat::Chain::of_this_process();
        kid_t kid = 0;
        {
            const auto held = chain.hold(full, ALL_ZONES);
            if (!held) return nullptr;
            kid = held->get()->ks_kid;
        }
        const auto data = kstat::read_kstat(chain, kid).data;
        memory_.assign((data.size() + 7) / 8, 0);
        std::memcpy(memory_.data(), data.data(), data.size());
        EXPECT_EQ(stats_blob_validate(memory_.data(), data.size()), 0);
        return reinterpret_cast<statsblob*>(memory_.data());
    }

    static uint64_t of(statsblob* blob, int32_t voi, voi_stype stype) {
        uint64_t value = 0;
        EXPECT_EQ(stats_voistat_fetch_u64(blob, voi, stype, &value), 0);
        return value;
    }

    static uint64_t count(statsblob* blob, int32_t voi) {
        voistatdata* digest = nullptr;
        EXPECT_EQ(stats_voistat_fetch_dptr(blob, voi, VS_STYPE_TDGST, nullptr, &digest, nullptr),
                  0);
        return digest->tdgstclust64.smplcnt;
    }

    std::vector<uint64_t> memory_;
};

class IoStatsKstat : public BlobReader, public ::testing::Test {};
class IoStatsOfADevice : public BlobReader, public DeviceTest {};

TEST_F(IoStatsKstat, IsABlobWithWhatTheRequestsTook) {
    IoStats stats(0, "nbd0", 1);
    ASSERT_TRUE(stats.published());
    for (uint64_t i = 1; i <= 1000; ++i) {
        done(stats, {.write = false,
                     .wait_ns = 10 * i,
                     .service_ns = 1000 * i,
                     .size_bytes = 4096,
                     .depth = 1 + i % 8});
    }
    done(stats,
         {.write = true, .wait_ns = 7, .service_ns = 5'000'000, .size_bytes = 65536, .depth = 1});
    statsblob* const blob = read();
    ASSERT_NE(blob, nullptr);
    EXPECT_EQ(of(blob, IoStats::read_service, VS_STYPE_MAX), 1'000'000u);
    EXPECT_EQ(of(blob, IoStats::read_wait, VS_STYPE_SUM), 5'005'000u);
    EXPECT_EQ(of(blob, IoStats::write_service, VS_STYPE_MIN), 5'000'000u);
    EXPECT_EQ(of(blob, IoStats::write_wait, VS_STYPE_MAX), 7u);
    EXPECT_EQ(of(blob, IoStats::size, VS_STYPE_MAX), 65536u);
    EXPECT_EQ(of(blob, IoStats::depth, VS_STYPE_MAX), 8u);
    double median = 0;
    ASSERT_EQ(stats_voi_quantile(blob, IoStats::read_service, 0.5, &median), 0);
    EXPECT_NEAR(median, 500'000, 10'000);
}

TEST_F(IoStatsKstat, TakesOneRequestInSoMany) {
    IoStats stats(0, "nbd0", 100);
    for (int i = 0; i < 1000; ++i)
        done(stats, {.write = false, .wait_ns = 0, .service_ns = 1, .size_bytes = 512, .depth = 1});
    EXPECT_EQ(of(read(), IoStats::read_service, VS_STYPE_SUM), 10u);
}

TEST_F(IoStatsKstat, OfEveryNoneIsNotThere) {
    IoStats stats(0, "nbd0", 0);
    EXPECT_FALSE(stats.published());
    done(stats, {.write = false, .wait_ns = 0, .service_ns = 1, .size_bytes = 512, .depth = 1});
    EXPECT_EQ(read(), nullptr);
}

// ---- The memory of the blob ----

TEST_F(IoStatsKstat, AReaderOfABlobThatIsNotThereYetGetsOneWithoutSamples) {
    IoStats stats(0, "nbd0", 1);
    EXPECT_FALSE(stats.prepared());
    statsblob* const blob = read();
    ASSERT_NE(blob, nullptr);
    for (int32_t voi = 0; voi < IoStatsTemplate::voi_count; ++voi) EXPECT_EQ(count(blob, voi), 0u);
    EXPECT_FALSE(stats.prepared()) << "a reader costs no memory";
}

TEST_F(IoStatsKstat, TheFirstSampleMakesTheBlobIfNoClientDid) {
    IoStats stats(0, "nbd0", 2);
    const size_t empty_bytes = read()->cursz;
    const IoStats::Request request{
        .write = true, .wait_ns = 1, .service_ns = 1, .size_bytes = 512, .depth = 1};
    done(stats, request);
    EXPECT_FALSE(stats.prepared());
    done(stats, request);
    EXPECT_TRUE(stats.prepared());
    statsblob* const blob = read();
    EXPECT_EQ(blob->cursz, empty_bytes);
    EXPECT_EQ(count(blob, IoStats::write_service), 1u);
}

TEST_F(IoStatsKstat, ASecondClientLeavesTheBlobAsItIs) {
    IoStats stats(0, "nbd0", 1);
    stats.prepare();
    ASSERT_TRUE(stats.prepared());
    done(stats, {.write = false, .wait_ns = 0, .service_ns = 1, .size_bytes = 512, .depth = 1});
    stats.prepare();
    EXPECT_EQ(count(read(), IoStats::read_service), 1u);
}

TEST_F(IoStatsOfADevice, TakeTheirMemoryWhenTheFirstClientComes) {
    if (BLKSCOPE_SANITIZED)
        GTEST_SKIP()
            << "SKIPPED: the sanitizer has a heap of its own, of which mallinfo2() knows nothing";
    const auto in_use = [] { return mallinfo2().uordblks; };
    make(2, 1, 1);
    statsblob* const blob = read();
    ASSERT_NE(blob, nullptr);
    const size_t blob_bytes = blob->cursz;
    const size_t without_client = in_use();
    device_->first_lane().connection_opened();
    const size_t with_client = in_use();
    EXPECT_GE(with_client, without_client + blob_bytes);
    device_->first_lane().connection_opened();
    TestBuf buf(Buf::Op::read);
    device_->strategy(buf);
    finish_first(4096);
    ASSERT_EQ(buf.done, 1);
    EXPECT_EQ(in_use(), with_client) << "the sample finds its memory there";
    EXPECT_EQ(count(read(), IoStats::read_service), 1u);
}

TEST_F(IoStatsKstat, TwoDevicesShareATemplate) {
    const int tpl = IoStatsTemplate::make();
    ASSERT_GE(tpl, 0);
    EXPECT_EQ(IoStatsTemplate::make(), tpl);
    EXPECT_EQ(stats_tpl_fetch_allocid("blkscope.io", 0), tpl);
}

TEST_F(IoStatsKstat, AReaderSeesWholeBlobsWhileTheWorkerIsAtIt) {
    IoStats stats(0, "nbd0", 1);
    constexpr uint64_t requests = 20'000;
    std::thread worker([&] {
        for (uint64_t i = 0; i < requests; ++i)
            done(stats, {.write = false,
                         .wait_ns = 1,
                         .service_ns = i * 7919 % 100'000,
                         .size_bytes = 512,
                         .depth = 1});
    });
    for (int i = 0; i < 50; ++i) ASSERT_NE(read(), nullptr);  // and validates each
    worker.join();
    EXPECT_EQ(of(read(), IoStats::read_wait, VS_STYPE_SUM) + stats.dropped(), requests);
}

// The third, sixth, ninth ... request to end is in the blob, with the times of its own stamps. The
// others are not.
TEST_F(IoStatsOfADevice, HasEveryThirdRequestWithItsOwnStamps) {
    make(2, 1, 3);
    const TickScale scale;
    uint64_t service = 0;
    uint64_t wait = 0;
    uint64_t bytes = 0;
    std::vector<std::unique_ptr<TestBuf>> bufs;
    for (uint32_t i = 0; i < 30; ++i) {
        bufs.push_back(std::make_unique<TestBuf>(Buf::Op::read, 0, 512 * (i + 1)));
        device_->strategy(*bufs.back());
    }
    for (uint32_t i = 0; i < 30; ++i) {
        TestBuf& buf = *bufs[i];
        finish_first(static_cast<int32_t>(buf.bcount));
        ASSERT_EQ(buf.done, 1);
        if (i % 3 != 2) continue;
        service += scale.to_ns(static_cast<uint64_t>(buf.finished - buf.started));
        wait += scale.to_ns(static_cast<uint64_t>(buf.started - buf.queued));
        bytes += buf.bcount;
    }
    statsblob* const blob = read();
    ASSERT_NE(blob, nullptr);
    EXPECT_EQ(count(blob, IoStats::read_service), 10u);
    EXPECT_EQ(of(blob, IoStats::read_service, VS_STYPE_SUM), service);
    EXPECT_EQ(of(blob, IoStats::read_wait, VS_STYPE_SUM), wait);
    EXPECT_EQ(of(blob, IoStats::size, VS_STYPE_SUM), bytes);
    EXPECT_EQ(of(blob, IoStats::depth, VS_STYPE_SUM),
              2u + 5 + 8 + 11 + 14 + 17 + 20 + 23 + 26 + 29);
    EXPECT_EQ(count(blob, IoStats::write_service), 0u);
}

TEST_F(IoStatsOfADevice, CountsReadsAndWritesFailedOrNotAndNothingElse) {
    make(2, 1, 1);
    for (const Buf::Op op : {Buf::Op::flush, Buf::Op::trim, Buf::Op::cache}) {
        TestBuf other(op);
        device_->strategy(other);
        finish_first(static_cast<int32_t>(other.bcount));
        ASSERT_EQ(other.done, 1);
    }
    TestBuf failing(Buf::Op::write, 0, 4096);
    device_->strategy(failing);
    finish_first(-EIO);
    statsblob* const blob = read();
    ASSERT_NE(blob, nullptr);
    EXPECT_EQ(count(blob, IoStats::read_service), 0u);
    EXPECT_EQ(count(blob, IoStats::write_service), 1u);
    EXPECT_EQ(of(blob, IoStats::size, VS_STYPE_SUM), 4096u);
}

TEST_F(IoStatsOfADevice, AreNotThereWithoutARate) {
    make(2);
    EXPECT_EQ(read(), nullptr);
}

}  // namespace
}  // namespace blkscope
