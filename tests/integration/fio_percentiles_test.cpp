// The percentiles of our histograms beside those that fio measures at the other end of the socket.
// The backing's service time is fixed, and far longer than the time of the socket and of fio.

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "blockdev/device/device.hpp"
#include "driver/nbd/server/asio_executor.hpp"
#include "driver/nbd/server/server.hpp"
#include "kstat/provider/instance.hpp"
#include "served_device.hpp"
#include "tools/iostat/histogram_reader.hpp"

namespace blkscope::test {
namespace {

constexpr int64_t ms = 1'000'000;  // ns

/// Nanoseconds by percentile, as fio writes it.
using Latencies = std::map<std::string, uint64_t>;

/// Every request takes its time: the n-th the one that is planned for it, over and over.
class SlowBacking final : public Backing {
  public:
    explicit SlowBacking(std::vector<int64_t> plan_ns) : plan_ns_(std::move(plan_ns)) {}

    [[nodiscard]] std::string describe() const override { return "slow"; }
    [[nodiscard]] uint64_t size_bytes() const override { return uint64_t{1} << 30; }
    void attach(Ring& ring) override { ring_ = &ring; }
    std::optional<int32_t> prepare(Buf& buf) override {
        if (!buf.in_queues()) return 0;
        Timeout& timeout = timeouts_[requests_ % timeouts_.size()];
        const int64_t ns = plan_ns_[requests_++ % plan_ns_.size()];
        timeout.buf = &buf;
        timeout.ring = ring_;
        timeout.length = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
        ring_->prepare(timeout, [&](io_uring_sqe* entry) {
            io_uring_prep_timeout(entry, &timeout.length, 0, 0);
        });
        return std::nullopt;
    }

  private:
    struct Timeout final : Completion {
        void complete(int32_t) override {
            ring->completed(*buf, static_cast<int32_t>(buf->bcount));
        }
        Buf* buf = nullptr;
        Ring* ring = nullptr;
        __kernel_timespec length{};
    };

    std::vector<int64_t> plan_ns_;
    std::vector<Timeout> timeouts_{1024};  // more than there are requests at once
    size_t requests_ = 0;
    Ring* ring_ = nullptr;
};

/// The histograms of a run of so many requests, and the figures that fio measured of it.
struct Compared {
    iostat::Histograms histograms;
    Latencies measured;
};

class FioPercentiles : public ::testing::Test {
  protected:
    // This process publishes in one folder for as long as it lives.
    static void SetUpTestSuite() {
        char path[] = "/tmp/fio_percentiles.XXXXXX";
        ASSERT_NE(mkdtemp(path), nullptr);
        folder() = path;
        setenv("KSTAT_DIR", path, 1);
    }
    static void TearDownTestSuite() { std::filesystem::remove_all(folder()); }

    void TearDown() override {
        if (!server_) return;
        io_.stop();
        control_.join();
        EXPECT_TRUE(server_->stop());
    }

    void serve(std::vector<int64_t> plan_ns, uint32_t queue_depth) {
        server_ = std::make_unique<nbd::Server>(executor_, nbd::Server::Options{});
        server_->add({.name = "slow",
                      .description = {},
                      .backing = std::make_unique<SlowBacking>(std::move(plan_ns)),
                      .instance = kstat::claim_instance("nbd"),
                      .queue_depth = queue_depth});
        server_->listen_unix((folder() / "slow.sock").string());
        server_->start();
        control_ = std::thread([this] { io_.run(); });
    }

    /// Runs so many requests; fio's completion latencies in nanoseconds by percentile.
    Latencies fio(int iodepth, int requests) {
        const std::string report = (folder() / "fio.json").string();
        Process process(
            {"timeout", "100", "fio", "--name=job", "--ioengine=nbd", "--thread", "--rw=randread",
             "--bs=4k", "--size=64M", "--norandommap", "--iodepth=" + std::to_string(iodepth),
             "--number_ios=" + std::to_string(requests), "--io_size=1G",
             "--percentile_list=50:90:95:99", "--output-format=json", "--output=" + report,
             "--uri=" + server_->uris(0).front().text()},
            folder() / "fio.log");
        EXPECT_EQ(process.wait(), 0) << process.output();
        std::ifstream in(report);
        in.ignore(std::numeric_limits<std::streamsize>::max(), '{');  // fio says other things first
        in.unget();
        return nlohmann::json::parse(in)["jobs"][0]["read"]["clat_ns"]["percentile"];
    }

    iostat::Histograms read_histograms() {
        std::vector<iostat::Device> devices(1);
        devices[0].module = "nbd";
        devices[0].name = server_->device(0).name();
        devices[0].instance = std::stoi(devices[0].name.substr(3));
        iostat::HistogramReader().read_into(devices);
        return devices[0].histograms;
    }

    Compared compare(int iodepth, int requests) {
        const iostat::Histograms before = read_histograms();
        Latencies measured = fio(iodepth, requests);
        return {iostat::difference(before, read_histograms()), std::move(measured)};
    }

    static std::filesystem::path& folder() {
        static std::filesystem::path path;
        return path;
    }

  private:
    boost::asio::io_context io_;
    nbd::AsioExecutor executor_{io_};
    std::unique_ptr<nbd::Server> server_;
    std::thread control_;
};

using Shares = std::vector<std::pair<const char*, kstat2::PerMillion>>;

/// Where the histogram and fio disagree; empty if nowhere. fio's value lies in the bucket of the
/// histogram's percentile, or in the next one. fio's latency also has the way through the socket
/// and back.
std::string disagreement(const iostat::Histogram& histogram, const Latencies& measured,
                         const Shares& shares) {
    for (const auto& [key, share] : shares) {
        const auto bucket = kstat2::percentile_bucket(histogram.counts, share);
        if (!bucket) return "nothing was counted";
        const uint32_t of_fio = histogram.shape.index(measured.at(key));
        if (of_fio >= *bucket && of_fio <= *bucket + 1) continue;
        return std::string(key) + ": " + std::to_string(measured.at(key)) + " ns lie in bucket " +
               std::to_string(of_fio) + ", not in " + std::to_string(*bucket);
    }
    return {};
}

/// Runs until it `agrees`, at most a few times. Where other programs use the processors too, fio
/// may read an answer long after it arrived. Returns the disagreement of the last run.
template <class Run, class Disagreement>
std::string try_again(Run run, Disagreement disagreement_of) {
    std::string last;
    for (int attempt = 0; attempt < 4; ++attempt) {
        last = disagreement_of(run());
        if (last.empty()) break;
    }
    return last;
}

// Of 100 requests 94 take 110 ms, 4 take 310 ms and 2 take 620 ms. fio reads its last 64 all at
// once, so a fiftieth of them may seem slower than they were. No share lies that near to an edge.
TEST_F(FioPercentiles, AreThoseOfServiceAndTotalWhereNothingWaits) {
    NEEDS("fio");
    std::vector<int64_t> plan(100, 110 * ms);
    for (size_t i = 0; i < 4; ++i) plan[i * 20 + 3] = 310 * ms;
    for (size_t i = 0; i < 2; ++i) plan[i * 40 + 7] = 620 * ms;
    serve(plan, 128);
    const Shares shares{{"50.000000", kstat2::p50},
                        {"90.000000", kstat2::p90},
                        {"95.000000", kstat2::p95},
                        {"99.000000", kstat2::p99}};
    const auto disagreement_of = [&](const Compared& run) {
        EXPECT_EQ(run.histograms.at("read_total").count(), 3000u);
        return disagreement(run.histograms.at("read_service"), run.measured, shares) +
               disagreement(run.histograms.at("read_total"), run.measured, shares);
    };
    EXPECT_EQ(try_again([&] { return compare(64, 3000); }, disagreement_of), "");
}

// 64 under way where 16 are served at a time: three waits of 110 ms come before each service.
TEST_F(FioPercentiles, AreThoseOfTotalAndNotOfServiceWhereRequestsWait) {
    NEEDS("fio");
    serve({110 * ms}, 16);
    const Shares shares{{"50.000000", kstat2::p50}, {"90.000000", kstat2::p90}};
    const auto disagreement_of = [&](const Compared& run) {
        EXPECT_NE(disagreement(run.histograms.at("read_service"), run.measured, shares), "");
        return disagreement(run.histograms.at("read_total"), run.measured, shares);
    };
    EXPECT_EQ(try_again([&] { return compare(64, 960); }, disagreement_of), "");
}

}  // namespace
}  // namespace blkscope::test
