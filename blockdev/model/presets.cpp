#include "blockdev/model/presets.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace blkscope::model {
namespace {

// The mean of the square root of a random distance is 8/15 of the full stroke's. So SEEK_FULL is
// SEEK_MIN + (mean seek - SEEK_MIN) * 15/8. READ is the time of a read at depth 1. CHANNELS is the
// reads per second at a high depth, times READ. PROGRAM is CHANNELS by the writes per second.
constexpr std::array<Preset, 3> models{
    {{"hdd7200", "all=hdd:7200:500us:14.94ms:163M",
      "HGST Ultrastar 7K4000 specification: mean seek 8.2 ms, 171 MB/s; 0.5 ms is an assumption",
      2012},
     {"sata-ssd", "all=ssd:10:100us:114us:4M:4ms",
      "Samsung 850 EVO data sheet: 10,000 reads/s at depth 1, 98,000 reads/s and 88,000 writes/s "
      "at "
      "depth 32; the pauses are an assumption",
      2014},
     {"nvme", "all=ssd:30:59us:62us:4M:4ms",
      "Samsung 980 data sheet (1 TB): 17,000 reads/s at depth 1, 500,000 reads/s and 480,000 "
      "writes/s at depth 32; the pauses are an assumption",
      2021}}};

constexpr std::array<Preset, 2> limits{
    {{"gp2:SIZE", "iops=BASE:3000:5400000,bps=RATE,unit=256K",
      "Amazon EBS user guide: 3 IOPS per GiB, 100 to 16,000, bursts of 3,000; 128 MiB/s up to "
      "170 GiB, then 250 MiB/s",
      2026},
     {"gp3[:IOPS:MBPS]", "iops=3000,bps=125M,unit=256K",
      "Amazon EBS user guide: 3,000 IOPS and 125 MiB/s, more if bought", 2026}}};

}  // namespace

std::span<const Preset> model_presets() {
    return models;
}

std::span<const Preset> limit_presets() {
    return limits;
}

std::string names_of_model_presets() {
    std::string names;
    for (const Preset& preset : models) {
        if (!names.empty()) names += &preset == &models.back() ? " and " : ", ";
        names += preset.name;
    }
    return names;
}

const Preset* find_model_preset(std::string_view name) {
    const auto* at = std::ranges::find(models, name, &Preset::name);
    if (at == models.end()) return nullptr;
    assert(!at->spec.empty());
    return at;
}

}  // namespace blkscope::model
