// The statistics of a served device, as blkscope stats and kstat show them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "served_device.hpp"
#include "tools/stats/reader.hpp"

namespace blkscope::test {
namespace {

using stats_command::Device;
using stats_command::Variable;

/// A quantile of the digest, and the share that it is for.
constexpr std::pair<size_t, kstat2::PerMillion> shares[] = {
    {0, kstat2::p50}, {1, kstat2::p90}, {2, kstat2::p99}, {3, kstat2::p999}};

/// How far the rank of a digest's answer may be from the requested share, for all values. The
/// answer lies between the means of two neighbours of 100 centroids. Each of these may span
/// 2 pi / 100 * sqrt(q (1 - q)) of the ranks.
kstat2::PerMillion rank_error(kstat2::PerMillion share) {
    const double q = static_cast<double>(share) / kstat2::whole;
    const double span = 2 * std::numbers::pi / 100 * std::sqrt(q * (1 - q));
    return static_cast<kstat2::PerMillion>(std::ceil(2 * span * kstat2::whole));
}

/// Where a digest and the histogram of the same requests disagree; empty if nowhere. The digest may
/// be wrong by its error. So its answer lies in a bucket between the share less the error and the
/// share plus the error. The next bucket on either side is right, too.
std::string disagreement(const Variable& variable, const iostat::Histogram& histogram) {
    if (variable.count != histogram.count()) {
        return "counted " + std::to_string(variable.count.value_or(0)) + ", and " +
               std::to_string(histogram.count());
    }
    for (const auto& [index, share] : shares) {
        const auto from = kstat2::percentile_bucket(histogram.counts, share - rank_error(share));
        const auto to = kstat2::percentile_bucket(
            histogram.counts, std::min(share + rank_error(share), kstat2::whole));
        if (!from || !to || index >= variable.quantiles.size()) return "nothing was counted";
        const auto& [name, value] = variable.quantiles[index];
        const size_t bucket = histogram.shape.index(static_cast<uint64_t>(value));
        if (bucket + 1 >= *from && bucket <= *to + 1) continue;
        return std::string(name) + " of " + std::to_string(value) + " is in bucket " +
               std::to_string(bucket) + ", not in " + std::to_string(*from) + " to " +
               std::to_string(*to);
    }
    return {};
}

class ServedStats : public ServedDevice {
  protected:
    void fio(int requests) {
        succeed({"fio", "--name=job", "--ioengine=nbd", "--thread", "--size=16M", "--norandommap",
                 "--bs=4k", "--rw=randrw", "--iodepth=16", "--io_size=1G",
                 "--number_ios=" + std::to_string(requests), "--uri=" + uri()});
    }
};

TEST_F(ServedStats, HaveQuantilesWithinABucketOfTheHistograms) {
    NEEDS("fio");
    serve(make_image("disk.img", 16 * mib), {"--queue-depth", "4", "--stats-rate", "1"});
    fio(20'000);
    const std::vector<Device> devices = stats_command::read_devices({});
    ASSERT_EQ(devices.size(), 1u);
    ASSERT_EQ(devices[0].trouble, "");
    ASSERT_EQ(devices[0].variables.size(), 6u);
    for (size_t i = 0; i < 4; ++i) {
        const Variable& variable = devices[0].variables[i];
        const std::string name = variable.name.substr(0, variable.name.rfind("_ns"));
        EXPECT_EQ(disagreement(variable, devices[0].histograms.at(name)), "") << name;
    }
    EXPECT_EQ(disagreement(devices[0].variables[5], devices[0].histograms.at("depth")), "");
}

TEST_F(ServedStats, AreOfOneRequestInSoMany) {
    serve("memory:1M", {"--stats-rate", "5"});
    Client client(uri());
    for (int i = 0; i < 19; ++i) ASSERT_EQ(client.try_read(0, 4096), 0);
    for (int i = 0; i < 6; ++i) ASSERT_EQ(client.try_write(0, 4096), 0);
    const auto devices = stats_command::read_devices({"nbd0"});
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0].variables.at(0).count, 3u);  // the 5th, 10th and 15th
    EXPECT_EQ(devices[0].variables.at(2).count, 2u);  // the 20th and 25th
    EXPECT_EQ(devices[0].variables.at(4).sum, stats_command::Number(uint64_t{5} * 4096));
}

TEST_F(ServedStats, ArePrintedAsATableAsJsonAndLineByLine) {
    serve("memory:1M", {"--stats-rate", "1"});
    Client client(uri());
    for (int i = 0; i < 20; ++i) ASSERT_EQ(client.try_read(0, 4096), 0);
    const std::string table = succeed({BLKSCOPE_BINARY, "stats"});
    EXPECT_EQ(table.rfind("nbd0               count    mean", 0), 0u) << table;
    EXPECT_NE(table.find("\nsize                  20      4K      4K      4K"), std::string::npos)
        << table;
    const auto json = nlohmann::json::parse(succeed({BLKSCOPE_BINARY, "stats", "--json", "nbd0"}));
    const auto& service = json["devices"][0]["variables"]["read_service"];
    EXPECT_EQ(service["digest"]["count"], 20);
    EXPECT_EQ(service["histogram"]["count"], 20);
    const std::string lines = succeed({KSTAT_BINARY, "-p", "stats:::"});
    EXPECT_NE(lines.find("stats:0:nbd0:size_bytes_bucket_00004096\t20\n"), std::string::npos)
        << lines;
    EXPECT_NE(lines.find("stats:0:nbd0:read_service_ns_p99.9\t"), std::string::npos) << lines;
    const std::string block = succeed({KSTAT_BINARY, "stats:::size_bytes_count"});
    EXPECT_EQ(block,
              "module: stats                           instance: 0     \n"
              "name:   nbd0                            class:    misc\n"
              "\tsize_bytes_count                20\n\n");
}

TEST_F(ServedStats, AreNotThereWithARateOfNone) {
    serve("memory:1M", {"--stats-rate", "0"});
    const CommandResult none = run({BLKSCOPE_BINARY, "stats"});
    EXPECT_EQ(none.status, 1);
    EXPECT_NE(none.output.find("unless --stats-rate is 0\n"), std::string::npos) << none.output;
    EXPECT_NE(run({BLKSCOPE_BINARY, "stats", "nbd0"}).output.find("no device nbd0 in "),
              std::string::npos);
}

}  // namespace
}  // namespace blkscope::test
