#include "tools/blkscope/serve_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "blockdev/backing/backing.hpp"
#include "driver/nbd/uri.hpp"
#include "tools/blkscope/backing_schemes.hpp"

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

// The name of another server's export, or that of the scheme.
std::string name_of_scheme(const std::string& text, std::string_view kind) {
    if (!kind.starts_with("nbd")) return std::string(kind);
    const std::string name = nbd::parse_uri(text).export_name;
    return name.empty() ? "nbd" : name;
}

// The export of "[NAME=]BACKING". Without NAME: the file's base name, `memory`, `null`, or the name
// that another server's export has.
ExportConfig parse_export(const std::string& text, const ExportConfig& settings) {
    ExportConfig exp = settings;
    const size_t equals = text.find('=');
    exp.backing = text;
    // An '=' behind a '/' is part of a path.
    if (equals != std::string::npos && text.find('/') > equals) {
        exp.name = text.substr(0, equals);
        exp.backing = text.substr(equals + 1);
    } else if (const auto kind = backing_kind(text, backing_schemes()); !kind.empty()) {
        exp.name = name_of_scheme(text, kind);
    } else {
        exp.name = std::filesystem::path(text).filename().string();
    }
    return exp;
}

// The text of an option for an export: the one with its name, else the one for all. "none" is none.
std::optional<std::string_view> text_for(const ExportConfig& exp, const char* option,
                                         const std::vector<std::string>& texts,
                                         const std::vector<std::string>& names) {
    std::optional<std::string_view> for_all;
    std::optional<std::string_view> for_one;
    for (const std::string& text : texts) {
        const Addressed one = addressed(text, names);
        if (!one.name.empty() && one.name != exp.name) continue;
        auto& place = one.name.empty() ? for_all : for_one;
        if (place) throw std::invalid_argument(fmt::format("{} {}: given twice", option, text));
        place = one.text;
    }
    const auto text = for_one ? for_one : for_all;
    return text == "none" ? std::nullopt : text;
}

BehaviourConfig behaviour_for(const ExportConfig& exp, const ServeOptions& options,
                              const std::vector<std::string>& names) {
    BehaviourConfig behaviour;
    if (const auto text = text_for(exp, "--model", options.models, names)) {
        behaviour.model = parse_model(*text);
    }
    if (const auto text = text_for(exp, "--limit", options.limits, names)) {
        behaviour.limits = model::LimitSpec::parse(*text);
    }
    if (const auto text = text_for(exp, "--client-limit", options.client_limits, names)) {
        behaviour.client_limits = model::LimitSpec::parse(*text);
    }
    for (const std::string& rule : options.faults) {
        const Addressed one = addressed(rule, names);
        if (one.name.empty() || one.name == exp.name) behaviour.faults.emplace_back(one.text);
    }
    return behaviour;
}

void add_behaviours(const ServeOptions& options, ServiceConfig& config) {
    std::vector<std::string> names;
    for (const ExportConfig& exp : config.exports) names.push_back(exp.name);
    uint64_t seed = options.seed;
    for (ExportConfig& exp : config.exports) {
        if (const auto text = text_for(exp, "--crash-cache", options.crash_caches, names)) {
            exp.crash_cache = model::CrashCacheOptions::parse(*text);
        }
        exp.behaviour = behaviour_for(exp, options, names);
        exp.behaviour.seed = seed++;  // equal seeds would make all devices slow at once
    }
}

}  // namespace

ServiceConfig config_of(const ServeOptions& options) {
    ServiceConfig config = options.config;
    for (const std::string& text : options.backings) {
        config.exports.push_back(parse_export(text, options.exp));
    }
    require_distinct_names(config);
    add_behaviours(options, config);
    if (options.port)
        config.listen.push_back({.host = options.bind_address, .port = *options.port});
    if (!options.socket_path.empty()) config.listen.push_back({.unix_path = options.socket_path});
    return config;
}

}  // namespace blkscope
