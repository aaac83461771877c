#include "tools/blkscope/serve_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "blockdev/backing/backing.hpp"

namespace blkscope {
namespace {

void require_distinct_names(const ServiceConfig& config) {
    std::vector<std::string> names;
    for (const ExportConfig& exp : config.exports) names.push_back(exp.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return;
    throw std::invalid_argument(
        fmt::format("serve: two exports are named '{}'; name one, as in other=BACKING", *twice));
}

// The export of "[NAME=]BACKING". Without NAME: the file's base name, `memory`, `null`.
ExportConfig parse_export(const std::string& text, const ExportConfig& settings) {
    ExportConfig exp = settings;
    const size_t equals = text.find('=');
    exp.backing = text;
    // An '=' behind a '/' is part of a path.
    if (equals != std::string::npos && text.find('/') > equals) {
        exp.name = text.substr(0, equals);
        exp.backing = text.substr(equals + 1);
    } else if (const auto kind = backing_kind(text); !kind.empty()) {
        exp.name = kind;
    } else {
        exp.name = std::filesystem::path(text).filename().string();
    }
    return exp;
}

}  // namespace

ServiceConfig config_of(const ServeOptions& options) {
    ServiceConfig config = options.config;
    for (const std::string& text : options.backings) {
        config.exports.push_back(parse_export(text, options.exp));
    }
    require_distinct_names(config);
    if (options.port)
        config.listen.push_back({.host = options.bind_address, .port = *options.port});
    if (!options.socket_path.empty()) config.listen.push_back({.unix_path = options.socket_path});
    return config;
}

}  // namespace blkscope
