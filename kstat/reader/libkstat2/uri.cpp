#include "kstat/reader/libkstat2/uri.hpp"

namespace blkscope::kstat2::reader {

std::optional<std::vector<std::string_view>> segments_of(std::string_view uri) {
    if (uri.starts_with(scheme)) uri.remove_prefix(scheme.size());
    if (!uri.starts_with('/')) return std::nullopt;
    std::vector<std::string_view> segments;
    if (uri == "/") return segments;
    while (!uri.empty()) {
        uri.remove_prefix(1);
        const std::string_view segment = uri.substr(0, uri.find('/'));
        if (segment.empty()) return std::nullopt;
        segments.push_back(segment);
        uri.remove_prefix(segment.size());
    }
    return segments;
}

std::string prefix_of(std::string_view uri) {
    std::string prefix(uri);
    if (!prefix.ends_with('/')) prefix += '/';
    return prefix;
}

std::string uri_below(std::string_view uri, std::string_view segment) {
    return prefix_of(uri).append(segment);
}

}  // namespace blkscope::kstat2::reader
