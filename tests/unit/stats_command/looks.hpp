// A device as blkscope stats reads it.
#pragma once

#include "tools/stats/comparison.hpp"

namespace blkscope::stats_command {

/// A device with ten reads in the digest, and a hundred in the histogram, in steps of 1000 ns.
inline Device a_device() {
    Variable service{.name = "read_service_ns",
                     .count = 10,
                     .sum = uint64_t{15'000},
                     .min = uint64_t{900},
                     .max = uint64_t{2'500'000},
                     .buckets = {},
                     .outside = 0,
                     .quantiles = {{"p50", 1234.5}, {"p90", 2000}, {"p99", 2e6}, {"p99.9", 2.5e6}}};
    Variable size{.name = "size_bytes", .count = 0, .sum = uint64_t{0}};
    Variable depth{.name = "depth",
                   .count = 2,
                   .sum = uint64_t{3},
                   .min = uint64_t{1},
                   .max = uint64_t{2},
                   .buckets = {},
                   .outside = 0,
                   .quantiles = {{"p50", 1}}};
    iostat::Histogram times{.shape = {KSTAT2_NVHIST_LINEAR, 0, 10'000, 1000},
                            .counts = {0, 0, 90, 0, 10},
                            .unit = "ns"};
    times.sum = 250'000;
    iostat::Histogram sizes{
        .shape = {KSTAT2_NVHIST_LOG2, 0, 0, 0}, .counts = {0, 0, 1}, .unit = "bytes"};
    Device device{.name = "nbd0", .instance = 0, .snaptime = 42};
    device.variables = {service, size, depth};
    device.histograms = {{"read_service", times}, {"read_size", sizes}, {"write_size", sizes}};
    return device;
}

}  // namespace blkscope::stats_command
