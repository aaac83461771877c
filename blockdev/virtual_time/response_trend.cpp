#include "blockdev/virtual_time/response_trend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace blkscope::virtual_time {
namespace {

constexpr size_t blocks_min = 8;
constexpr double errors_min = 3;
// A device that is asked for 1 % more than it can do does not keep up. Queues of a device that
// does keep up make a walk, which gets as far as the root of its steps.
constexpr double share_min = 0.01;
constexpr double walk_share = 1.5;

}  // namespace

ResponseTrend::Block& ResponseTrend::block_of(uint64_t number) {
    while (number / block_requests_ >= blocks_max) {
        for (size_t i = 0; i < blocks_max; i += 2) {
            const Block& one = blocks_[i];
            const Block& other = blocks_[i + 1];
            blocks_[i / 2] = {one.response_ns + other.response_ns, one.requests + other.requests,
                              std::max(one.in_device_max, other.in_device_max)};
        }
        std::fill(blocks_.begin() + blocks_max / 2, blocks_.end(), Block{});
        block_requests_ *= 2;
    }
    return blocks_[number / block_requests_];
}

void ResponseTrend::arrived(uint64_t number, uint64_t in_device) {
    Block& block = block_of(number);
    block.in_device_max = std::max(block.in_device_max, in_device);
    arrived_ = std::max(arrived_, number + 1);
}

void ResponseTrend::ended(uint64_t number, hrtime_t response) {
    Block& block = block_of(number);
    block.response_ns += static_cast<double>(response);
    ++block.requests;
    ++requests_;
}

// Less than half a block says little.
size_t ResponseTrend::whole_blocks() const {
    const auto is_small = [&](const Block& block) {
        return block.requests == 0 || 2 * block.requests < block_requests_;
    };
    const auto* const end = std::ranges::find_if(blocks_, is_small);
    return static_cast<size_t>(end - blocks_.begin());
}

ResponseTrend::Growth ResponseTrend::growth() const {
    const size_t blocks = whole_blocks();
    if (blocks < blocks_min) return {};
    const auto count = static_cast<double>(blocks);
    const auto mean_of = [&](size_t i) {
        return blocks_[i].response_ns / static_cast<double>(blocks_[i].requests);
    };
    double mean = 0;
    for (size_t i = 0; i < blocks; ++i) mean += mean_of(i) / count;
    double places = 0;  // sums of squares and products, of the distances from the means
    double products = 0;
    double responses = 0;
    for (size_t i = 0; i < blocks; ++i) {
        const double place = static_cast<double>(i) - (count - 1) / 2;
        const double response = mean_of(i) - mean;
        places += place * place;
        products += place * response;
        responses += response * response;
    }
    const double slope = products / places;
    const double rest = std::max(0.0, responses - slope * products);
    const double error = std::sqrt(rest / (count - 2) / places);
    if (slope == 0) return {};
    // Without a rest the line is exact.
    return {.ns = slope * count,
            .errors = error > 0 ? slope / error : std::numeric_limits<double>::infinity()};
}

bool ResponseTrend::grows_within(hrtime_t span) const {
    if (requests_ == 0 || span <= 0) return false;
    const Growth grown = growth();
    if (grown.ns <= 0) return false;
    const double share = share_min + walk_share / std::sqrt(static_cast<double>(requests_));
    return grown.errors > errors_min && grown.ns > share * static_cast<double>(span);
}

uint64_t ResponseTrend::worked_off() const {
    const auto half = static_cast<ptrdiff_t>(arrived_ / 2 / block_requests_);
    uint64_t most = 0;
    for (auto block = blocks_.begin(); block != blocks_.begin() + half; ++block) {
        most = std::max(most, block->in_device_max);
    }
    return most;
}

double ResponseTrend::typical_ns() const {
    std::vector<double> means;
    for (const Block& block : blocks_) {
        if (block.requests == 0) continue;
        means.push_back(block.response_ns / static_cast<double>(block.requests));
    }
    if (means.empty()) return 0;
    const auto middle = means.begin() + static_cast<ptrdiff_t>(means.size() / 2);
    std::nth_element(means.begin(), middle, means.end());
    return *middle;
}

}  // namespace blkscope::virtual_time
