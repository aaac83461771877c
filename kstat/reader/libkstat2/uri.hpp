// The names of maps: "kstat:/disk/blkscope/nbd0", and "kstat:/" for the whole tree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::kstat2::reader {

inline constexpr std::string_view scheme = "kstat:";
inline constexpr std::string_view root_uri = "kstat:/";

/// The segments of this URI, whose scheme may be missing; none for the whole tree's. Views into
/// `uri`. Nothing: no map can have that name.
[[nodiscard]] std::optional<std::vector<std::string_view>> segments_of(std::string_view uri);

/// The URI of the map `segment` inside the map of that URI.
[[nodiscard]] std::string uri_below(std::string_view uri, std::string_view segment);

/// The prefix of every URI below that one.
[[nodiscard]] std::string prefix_of(std::string_view uri);

}  // namespace blkscope::kstat2::reader
