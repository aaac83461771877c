// The checks on the arguments of kstat2_create and its sisters. The result is a `Wanted`, or a
// reason why the arguments are refused. Pure: nothing is registered here.
#pragma once

#include <optional>
#include <string>

#include "kstat/registry/maps.hpp"

namespace blkscope::kstat2 {

/// The least number of segments in a path: category, component, name.
inline constexpr uint32_t segments_min = 3;

/// The arguments that all create functions have.
struct Common {
    const char** segments;
    uint32_t nsegments;
    zoneid_t zone;
    uint32_t flags;
    const char* desc;
    kstat2_metaflag_t metaflags;
};

/// "/a/b/c"; else empty, and `why` says what is wrong with a segment.
std::string path_of(const char** segments, uint32_t nsegments, std::string& why);

/// A `Wanted` without pairs, or a reason.
std::optional<Wanted> check_common(const Common& common, std::string& why);

/// Adds `ndata` pairs with the metadata `md`, which may be null.
bool check_pairs(Wanted& wanted, kstat2_named_t* data, uint_t ndata, const kstat2_md_t* md,
                 std::string& why);

/// The further arguments of kstat2_create_histogram.
struct HistogramArguments {
    Buckets shape;
    kstat2_md_t content;  // of the counted values
    uint64_t* buckets;
    uint16_t num_buckets;
};
bool check_histogram(Wanted& wanted, const HistogramArguments& arguments, std::string& why);

}  // namespace blkscope::kstat2
