// How exact t-digests are: the worst error of the rank over seeds, as tab-separated lines for
// plot.py. With more than one seed, the lines named "all" have the worst of all distributions.
//
//     digest_accuracy [VALUES [SEEDS]]
#include <blkscope/stats.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "distributions.hpp"

namespace blkscope {

namespace {

struct Destroyed {
    void operator()(statsblob* blob) const { stats_blob_destroy(blob); }
};
using BlobPtr = std::unique_ptr<statsblob, Destroyed>;

constexpr double shares[] = {0.001, 0.01, 0.05, 0.1,  0.25,  0.5,
                             0.75,  0.9,  0.95, 0.99, 0.999, 0.9999};
constexpr uint32_t centroids[] = {20, 100, 500};

// The worst error of each share, for each number of centroids.
using Errors = std::array<std::array<double, std::size(shares)>, std::size(centroids)>;

BlobPtr fed(uint32_t size, const std::vector<uint64_t>& values) {
    static int number = 0;
    auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, size, 16);
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

Errors errors_of(const Distribution& distribution, size_t count, uint64_t seed) {
    const std::vector<uint64_t> values = distribution.draw(count, seed);
    std::vector<uint64_t> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    Errors errors{};
    for (size_t n = 0; n < std::size(centroids); ++n) {
        const BlobPtr blob = fed(centroids[n], values);
        for (size_t i = 0; i < std::size(shares); ++i) {
            double answer = 0;
            if (stats_voi_quantile(blob.get(), 0, shares[i], &answer) != 0) std::abort();
            errors[n][i] = rank_error(sorted, answer, shares[i]);
        }
    }
    return errors;
}

void keep_worst(Errors& worst, const Errors& errors) {
    for (size_t n = 0; n < std::size(centroids); ++n)
        for (size_t i = 0; i < std::size(shares); ++i)
            worst[n][i] = std::max(worst[n][i], errors[n][i]);
}

void print(const std::string& name, size_t count, const Errors& errors) {
    for (size_t n = 0; n < std::size(centroids); ++n)
        for (size_t i = 0; i < std::size(shares); ++i)
            std::printf("%s\t%u\t%zu\t%g\t%.6f\n", name.c_str(), centroids[n], count, shares[i],
                        errors[n][i]);
}

}  // namespace

}  // namespace blkscope

int main(int argc, char** argv) {
    using namespace blkscope;
    const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
    const uint64_t seeds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::puts("distribution\tcentroids\tvalues\tshare\trank_error");
    Errors all{};
    for (const auto* const list : {&distributions(), &harder_distributions()}) {
        for (const Distribution& distribution : *list) {
            Errors worst{};
            for (uint64_t seed = 1; seed <= seeds; ++seed)
                keep_worst(worst, errors_of(distribution, count, seed));
            print(distribution.name, count, worst);
            keep_worst(all, worst);
        }
    }
    if (seeds > 1) print("all", count, all);
}
