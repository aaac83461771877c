// Feeds any text to the parser of measured times, which are reports of iostat -j and fio's json+.
//
// The parser may refuse a text, by std::invalid_argument and a reason alone. The buckets of an accepted text ascend and have
// counts. Either a distribution refuses the histogram, or its draws lie between the histogram's bounds. Built twice: with
// libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "require.hpp"
#include "tools/blkscope/histogram_file.hpp"

namespace {

using namespace blkscope;

void draw(const model::Histogram& histogram) {
    const auto distribution =
        model::Distribution::parse("empirical:FILE", [&](const std::string&) { return histogram; });
    double to_ns = 0;
    for (const auto& bucket : histogram.buckets) to_ns = std::max(to_ns, bucket.to_ns);
    const double from_ns = histogram.buckets.front().from_ns;
    require(distribution.mean_ns() >= from_ns && distribution.mean_ns() <= to_ns);
    for (uint64_t number = 0; number < 8; ++number) {
        model::Draws draws(7, 1, number);
        const double ns = distribution.draw_ns(draws);
        require(ns >= from_ns && ns <= to_ns);
    }
}

void try_operation(const std::string& text, std::string_view operation) try {
    const model::Histogram histogram = parse_histogram(text, operation);
    require(!histogram.buckets.empty());
    const model::Histogram::Bucket* before = nullptr;
    for (const auto& bucket : histogram.buckets) {
        require(bucket.count > 0 && bucket.from_ns >= 0 && bucket.to_ns > bucket.from_ns);
        require(before == nullptr || before->from_ns < bucket.from_ns);
        before = &bucket;
    }
    draw(histogram);
} catch (const std::invalid_argument& refused) {
    require(!std::string_view(refused.what()).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const char* operation : {"all", "read", "flush", "zeroes"}) try_operation(text, operation);
    return 0;
}
