#include "tools/iostat/histogram_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/blocked_signals.hpp"
#include "base/clock.hpp"

namespace blkscope::iostat {
namespace {

void require(kstat2_status_t status, const char* what) {
    if (status == KSTAT2_S_OK) return;
    throw std::runtime_error(fmt::format("{}: {}", what, kstat2_status_string(status)));
}

// The value of that name and type; null if there is none, or if it has no meaning at present.
kstat2_nv_t value(kstat2_map_t map, const char* name, uint8_t type) {
    kstat2_nv_t nv = nullptr;
    if (kstat2_map_get(map, name, &nv) != KSTAT2_S_OK || nv->type != type) return nullptr;
    return (nv->flags & KSTAT2_NVF_INVAL) == 0 ? nv : nullptr;
}

std::optional<uint64_t> integer(kstat2_map_t map, const char* name) {
    const kstat2_nv_t nv = value(map, name, KSTAT2_NVVT_INT);
    return nv != nullptr ? std::optional(nv->kstat2_integer) : std::nullopt;
}

// A device's histograms are made right behind its IO kstat.
constexpr uint64_t creation_ns_max = 50'000'000;

// The time from the device's creation until another device of its path is created.
uint64_t creation_ns(const Device& device, const std::vector<Device>& devices) {
    uint64_t ns = creation_ns_max;
    for (const Device& other : devices) {
        if (other.module != device.module || other.name != device.name) continue;
        if (other.instance != device.instance || other.crtime <= device.crtime) continue;
        ns = std::min(ns,
                      static_cast<uint64_t>(other.crtime) - static_cast<uint64_t>(device.crtime));
    }
    return ns;
}

// libkstat2 has one map for a path, also if two providers have the path. Then the time of the creation
// tells the provider.
bool is_of(kstat2_map_t map, const Device& device, uint64_t ns) {
    if (device.at_provider.empty()) return true;
    const uint64_t created = integer(map, "crtime").value_or(0);
    return created - static_cast<uint64_t>(device.crtime) < ns;
}

// The unit of the histogram's values; empty if it is unknown.
std::string unit_of(kstat2_map_t map) {
    kstat2_nv_meta_t meta{};
    if (kstat2_nv_meta(map, "buckets", &meta) != KSTAT2_S_OK) return {};
    const bool nanoseconds = (meta.flags & KSTAT2_NVMF_FRACT) != 0 && meta.scale == ns_per_s &&
                             (meta.type == KSTAT2_NVMT_T_ACC || meta.type == KSTAT2_NVMT_T_REL);
    if (nanoseconds) return "ns";
    if (meta.type == KSTAT2_NVMT_BYTES && meta.scale == 1) return "bytes";
    return meta.type == KSTAT2_NVMT_CNT && meta.scale == 1 ? "requests" : "";
}

std::optional<Histogram> read_histogram(kstat2_map_t map) {
    const kstat2_nv_t buckets = value(map, "buckets", KSTAT2_NVVT_INTS);
    const auto type = integer(map, "type");
    const auto min = integer(map, "range_min");
    const auto max = integer(map, "range_max");
    const auto stepping = integer(map, "stepping");
    if (buckets == nullptr || !type || !min || !max || !stepping) return {};
    if (*type > KSTAT2_NVHIST_LOG10_LIN) return {};
    const kstat2::Buckets shape(static_cast<kstat2_nv_hist_type_t>(*type), *min, *max, *stepping);
    const auto& [array, length] = buckets->kstat2_integers;
    if (shape.why_invalid() != nullptr || length > shape.count()) return {};
    return Histogram{.shape = shape,
                     .counts = {array, array + length},
                     .unit = unit_of(map),
                     .crtime = static_cast<hrtime_t>(integer(map, "crtime").value_or(0))};
}

// Sets the sums, which are in a kstat of their own, under the histograms' names. The sum of a total
// is the sum of wait and service.
void add_sums(Histograms& histograms, kstat2_map_t times) {
    for (auto& [name, histogram] : histograms) {
        histogram.sum = integer(times, name.c_str());
        const std::string operation = name.substr(0, name.rfind('_'));
        if (name != operation + "_total") continue;
        const auto wait = integer(times, (operation + "_wait").c_str());
        const auto service = integer(times, (operation + "_service").c_str());
        if (wait && service) histogram.sum = *wait + *service;
    }
}

Histograms read_histograms(kstat2_map_t map, const Device& device, uint64_t ns,
                           const HistogramReader::Wanted& wanted) {
    Histograms histograms;
    kstat2_mapiter_t iter = nullptr;
    if (kstat2_mapiter_start(map, KSTAT2_NVK_MAP, &iter) != KSTAT2_S_OK) return histograms;
    kstat2_nv_t child = nullptr;
    kstat2_map_t times = nullptr;
    while (kstat2_mapiter_next(iter, &child) == KSTAT2_S_OK) {
        if (!is_of(child->kstat2_map, device, ns)) continue;
        if (std::string_view(child->name) == "times") {
            times = child->kstat2_map;
            continue;
        }
        if (!wanted(device, child->name)) continue;
        if (auto histogram = read_histogram(child->kstat2_map)) {
            histograms.emplace(child->name, std::move(*histogram));
        }
    }
    kstat2_mapiter_end(&iter);
    if (times != nullptr) add_sums(histograms, times);
    return histograms;
}

}  // namespace

HistogramReader::~HistogramReader() {
    if (begun_.valid()) begun_.wait();
    if (handle_ != nullptr) kstat2_close(&handle_);
}

void HistogramReader::refresh() {
    if (handle_ == nullptr) {
        kstat2_matcher_list_t disks = nullptr;
        require(kstat2_alloc_matcher_list(&disks), "match kstats");
        kstat2_add_matcher(KSTAT2_M_GLOB, "/disk/*", disks);
        const kstat2_status_t status = kstat2_open(&handle_, disks);
        kstat2_free_matcher_list(&disks);
        require(status, "open the histograms' kstats");
    }
    require(kstat2_update(handle_), "update the histograms' kstats");
}

void HistogramReader::begin() {
    if (begun_.valid()) return;
    const BlockedSignals blocked(all_signals());  // the program's signals are for its own thread
    try {
        begun_ = std::async(std::launch::async, [this] { refresh(); });
    } catch (const std::system_error&) {
        // Without a thread read_into() does it.
    }
}

void HistogramReader::read_into(std::vector<Device>& devices) {
    read_into(devices, [](const Device&, std::string_view) { return true; });
}

void HistogramReader::read_into(std::vector<Device>& devices, const Wanted& wanted) {
    begun_.valid() ? begun_.get() : refresh();
    for (Device& device : devices) {
        const std::string uri =
            fmt::format("/disk/{}/{}/{}", device.module, device.name, device.instance);
        kstat2_map_t map = nullptr;
        if (kstat2_lookup_map(handle_, uri.c_str(), &map) != KSTAT2_S_OK) continue;
        device.histograms = read_histograms(map, device, creation_ns(device, devices), wanted);
    }
}

}  // namespace blkscope::iostat
