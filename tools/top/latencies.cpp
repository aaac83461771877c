#include "tools/top/latencies.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace blkscope::top {
namespace {

Bounds bounds_of(const kstat2::Buckets& shape, const Bounds& known) {
    std::vector<uint64_t> lower;
    for (uint32_t i = 0; i < shape.count(); ++i) lower.push_back(shape.lower(i));
    if (known != nullptr && *known == lower) return known;
    return std::make_shared<const std::vector<uint64_t>>(std::move(lower));
}

// Empty if the histograms are not there, or not like the others.
std::vector<uint64_t> counts_of(const iostat::Histograms& histograms, std::string_view stage,
                                const iostat::Histogram& like, size_t buckets) {
    const auto found = iostat::of_transfers(histograms, stage);
    if (!found || !found->like(like)) return {};
    std::vector<uint64_t> counts = found->counts;
    counts.resize(buckets);
    return counts;
}

}  // namespace

Latencies latencies_of(const iostat::Histograms& histograms, Bounds& known) {
    const auto wait = iostat::of_transfers(histograms, "wait");
    const auto service = iostat::of_transfers(histograms, "service");
    if (!wait || !service || !wait->like(*service)) return {};
    if (wait->unit != "ns" || !wait->shape.is_bounded()) return {};
    known = bounds_of(wait->shape, known);
    Latencies latencies{.crtime = std::max(wait->crtime, service->crtime),
                        .bounds = known,
                        .wait = wait->counts,
                        .service = service->counts};
    latencies.wait.resize(known->size());
    latencies.service.resize(known->size());
    latencies.receive = counts_of(histograms, "receive", *wait, known->size());
    latencies.reply = counts_of(histograms, "reply", *wait, known->size());
    return latencies;
}

}  // namespace blkscope::top
