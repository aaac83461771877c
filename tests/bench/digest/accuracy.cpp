// How exact t-digests are: the worst error of the rank over seeds and distributions, as
// tab-separated lines for plot.py.
//
//     digest_accuracy [VALUES [SEEDS]]
#include <blkscope/stats.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "distributions.hpp"

namespace blkscope {

namespace {

struct Destroyed {
    void operator()(statsblob* blob) const { stats_blob_destroy(blob); }
};
using BlobPtr = std::unique_ptr<statsblob, Destroyed>;

constexpr double shares[] = {0.001, 0.01, 0.05, 0.1,  0.25,  0.5,
                             0.75,  0.9,  0.95, 0.99, 0.999, 0.9999};

BlobPtr fed(uint32_t centroids, const std::vector<uint64_t>& values) {
    static int number = 0;
    auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, centroids, 16);
    voistatspec specs[] = {STATS_VSS_MIN(), STATS_VSS_MAX(), stats_vss_tdgst(digest)};
    const int tpl = stats_tpl_alloc(("accuracy " + std::to_string(++number)).c_str(), 0);
    if (stats_tpl_add_voistats(static_cast<uint32_t>(tpl), 0, "value", VSD_DTYPE_INT_U64,
                               NVSS(specs), specs, 0) != 0)
        std::abort();
    BlobPtr blob(stats_blob_alloc(static_cast<uint32_t>(tpl), 0));
    for (const uint64_t value : values)
        if (stats_voi_update_abs_u64(blob.get(), 0, value) != 0) std::abort();
    return blob;
}

void measure(const Distribution& distribution, uint32_t centroids, size_t count, uint64_t seeds) {
    std::vector<double> worst(std::size(shares));
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        std::vector<uint64_t> values = distribution.draw(count, seed);
        const BlobPtr blob = fed(centroids, values);
        std::sort(values.begin(), values.end());
        for (size_t i = 0; i < std::size(shares); ++i) {
            double answer = 0;
            if (stats_voi_quantile(blob.get(), 0, shares[i], &answer) != 0) std::abort();
            worst[i] = std::max(worst[i], rank_error(values, answer, shares[i]));
        }
    }
    for (size_t i = 0; i < std::size(shares); ++i)
        std::printf("%s\t%u\t%zu\t%g\t%.6f\n", distribution.name.c_str(), centroids, count,
                    shares[i], worst[i]);
}

}  // namespace

}  // namespace blkscope

int main(int argc, char** argv) {
    const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
    const uint64_t seeds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::puts("distribution\tcentroids\tvalues\tshare\trank_error");
    for (const auto& distribution : blkscope::distributions())
        for (const uint32_t centroids : {20u, 100u, 500u})
            blkscope::measure(distribution, centroids, count, seeds);
}
