#include "top/latency_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <kstat/kstat2/buckets.hpp>
#include <optional>

namespace blkscope::top {

namespace {

// The value, or nothing if there is none, it is of another type or means nothing now.
kstat2_nv_t value(kstat2_map_t map, const char* name, uint8_t type) {
    kstat2_nv_t nv = nullptr;
    if (kstat2_map_get(map, name, &nv) != KSTAT2_S_OK || nv->type != type) return nullptr;
    return (nv->flags & KSTAT2_NVF_INVAL) != 0 ? nullptr : nv;
}

std::optional<uint64_t> integer(kstat2_map_t map, const char* name) {
    const kstat2_nv_t nv = value(map, name, KSTAT2_NVVT_INT);
    if (nv == nullptr) return std::nullopt;
    return nv->kstat2_integer;
}

std::optional<kstat2::Buckets> shape(kstat2_map_t map) {
    const auto type = integer(map, "type");
    const auto range_min = integer(map, "range_min");
    const auto range_max = integer(map, "range_max");
    const auto stepping = integer(map, "stepping");
    if (!type || *type > KSTAT2_NVHIST_LOG10_LIN || !range_min || !range_max || !stepping) {
        return std::nullopt;
    }
    const kstat2::Buckets buckets(static_cast<kstat2_nv_hist_type_t>(*type), *range_min, *range_max,
                                  *stepping);
    if (buckets.why_invalid() != nullptr || !buckets.is_bounded()) return std::nullopt;
    return buckets;
}

void add_up(std::vector<uint64_t>& sums, const std::vector<uint64_t>& counts) {
    for (size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
}

}  // namespace

void LatencyReader::update() {
    if (handle_ == nullptr) {
        kstat2_handle_t opened = nullptr;
        if (kstat2_open(&opened, nullptr) != KSTAT2_S_OK) return;
        handle_.reset(opened);
    }
    if (kstat2_update(handle_.get()) != KSTAT2_S_OK) handle_.reset();
}

Latencies LatencyReader::read(const iostat::Device& device) {
    Latencies latencies;
    if (handle_ == nullptr) return latencies;
    const std::string uri =
        fmt::format("kstat:/disk/{}/{}/{}/", device.module, device.name, device.instance);
    bool complete = true;
    for (const char* op : {"read", "write"}) {
        complete &= add(uri + op + "_wait", latencies, &Latencies::wait);
        complete &= add(uri + op + "_service", latencies, &Latencies::service);
    }
    return complete ? latencies : Latencies{};
}

// Adds what one histogram counts. False: it cannot be had.
bool LatencyReader::add(const std::string& uri, Latencies& to,
                        std::vector<uint64_t> Latencies::*phase) {
    kstat2_map_t map = nullptr;
    if (kstat2_lookup_map(handle_.get(), uri.c_str(), &map) != KSTAT2_S_OK) return false;
    const kstat2_nv_t nv = value(map, "buckets", KSTAT2_NVVT_INTS);
    const Bounds bounds = bounds_of(map);
    if (nv == nullptr || bounds == nullptr) return false;
    if (to.bounds == nullptr) to.bounds = bounds;
    to.crtime = std::max(to.crtime, static_cast<hrtime_t>(integer(map, "crtime").value_or(0)));
    if (to.bounds != bounds || nv->kstat2_integers.length > bounds->size()) return false;
    const std::vector<uint64_t> counts(nv->kstat2_integers.array,
                                       nv->kstat2_integers.array + nv->kstat2_integers.length);
    (to.*phase).resize(bounds->size());
    add_up(to.*phase, counts);
    return true;
}

Bounds LatencyReader::bounds_of(kstat2_map_t map) {
    const auto buckets = shape(map);
    if (!buckets) return nullptr;
    std::vector<uint64_t> lower;
    for (uint32_t i = 0; i < buckets->count(); ++i) lower.push_back(buckets->lower(i));
    if (last_bounds_ == nullptr || *last_bounds_ != lower) {
        last_bounds_ = std::make_shared<const std::vector<uint64_t>>(std::move(lower));
    }
    return last_bounds_;
}

}  // namespace blkscope::top
