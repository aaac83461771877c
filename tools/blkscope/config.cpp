#include "tools/blkscope/config.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "base/throw_errno.hpp"
#include "driver/nbd/server/allow_list.hpp"
#include "driver/nbd/text.hpp"
#include "tools/blkscope/strict_json.hpp"
#include "tools/program/options.hpp"

namespace blkscope {
namespace {

using Object = StrictObject;

constexpr std::string_view unix_prefix = "unix:";
constexpr size_t config_bytes_max = size_t{4} << 20;

uint16_t parse_port(const std::string& key, std::string_view text) {
    const auto port = program::decimal<uint16_t>(text);
    if (!port) refuse_key(key, fmt::format("port '{}' is not 0 to 65535", text));
    return *port;
}

// Parses unix:PATH, ADDRESS:PORT or [V6-ADDRESS]:PORT.
ListenAddress parse_listen(const std::string& key, std::string_view text) {
    if (text.starts_with(unix_prefix) && text.size() > unix_prefix.size()) {
        return {.unix_path = std::string(text.substr(unix_prefix.size()))};
    }
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        refuse_key(key, fmt::format("'{}' is neither unix:PATH nor ADDRESS:PORT", text));
    }
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return {.host = std::string(host), .port = parse_port(key, text.substr(colon + 1))};
}

// Runs `parse`, whose errors get the key.
template <class Parse>
auto at_key(const std::string& key, Parse parse) {
    try {
        return parse();
    } catch (const std::invalid_argument& error) {
        refuse_key(key, error.what());
    }
}

// The items of an object of the grammar: its preset, then a member for each of the names.
std::vector<std::string> parse_items(const StrictJson& json, const std::string& path,
                                     std::initializer_list<const char*> names) {
    Object object(json, path);
    std::vector<std::string> items;
    std::string preset;
    object.text("preset", preset);
    if (!preset.empty()) items.push_back(preset);
    for (const char* name : names) object.item(name, items);
    object.no_others();
    return items;
}

// A text of --model, or an object with a member for each item. `all` comes before the operations.
model::ModelSpec parse_model_at(const StrictJson& json, const std::string& path) {
    if (json.is_string()) return at_key(path, [&] { return parse_model(json.get<std::string>()); });
    const auto items = parse_items(json, path,
                                   {"all", "read", "write", "flush", "trim", "zeroes", "cache",
                                    "status", "per_byte", "servers", "seed"});
    return at_key(path, [&] { return parse_model(items); });
}

model::LimitSpec parse_limits_at(const StrictJson& json, const std::string& path) {
    std::string text;
    if (json.is_string()) {
        text = json.get<std::string>();
    } else {
        text = fmt::format("{}", fmt::join(parse_items(json, path,
                                                       {"iops", "bps", "read_iops", "read_bps",
                                                        "write_iops", "write_bps", "unit"}),
                                           ","));
    }
    return at_key(path, [&] { return model::LimitSpec::parse(text); });
}

// The size of the device decides later whether a rule can match. Its form is checked here.
void parse_behaviour(Object& object, BehaviourConfig& behaviour) {
    if (const StrictJson* json = object.find("model")) {
        behaviour.model = parse_model_at(*json, object.path_of("model"));
    }
    if (const StrictJson* json = object.find("limit")) {
        behaviour.limits = parse_limits_at(*json, object.path_of("limit"));
    }
    if (const StrictJson* json = object.find("client-limit")) {
        behaviour.client_limits = parse_limits_at(*json, object.path_of("client-limit"));
    }
    behaviour.faults = object.texts("faults");
    for (size_t i = 0; i < behaviour.faults.size(); ++i) {
        at_key(fmt::format("{}[{}]", object.path_of("faults"), i),
               [&] { return parse_fault(behaviour.faults[i], any_size_bytes); });
    }
    object.number("seed", behaviour.seed);
}

std::optional<model::CrashCacheOptions> parse_crash_cache(Object& object) {
    std::string text;
    object.text("crash-cache", text);
    if (object.find("crash-cache") == nullptr) return {};
    return at_key(object.path_of("crash-cache"),
                  [&] { return model::CrashCacheOptions::parse(text); });
}

// A word for which `parse` has a value. `words` says in the error which words there are.
template <class Value>
void take_word(Object& object, const std::string& key, Value& value,
               std::optional<Value> (*parse)(std::string_view word), const char* words) {
    if (object.find(key) == nullptr) return;
    std::string word;
    object.text(key, word);
    const auto found = parse(word);
    if (!found) refuse_key(object.path_of(key), fmt::format("'{}' is neither {}", word, words));
    value = *found;
}

UpstreamOptions parse_upstream(Object& object) {
    UpstreamOptions upstream;
    const auto seconds = [&](const char* key, std::chrono::milliseconds& time, unsigned least) {
        auto number = static_cast<unsigned>(time / std::chrono::seconds(1));
        object.number(key, number, upstream_seconds_max, least);
        time = std::chrono::seconds(number);
    };
    seconds("upstream-timeout", upstream.timeout, 1);
    seconds("upstream-settle", upstream.settle, 0);
    object.number("upstream-connections", upstream.connections, upstream_connections_max);
    object.flag("upstream-wait", upstream.wait);
    take_word(object, "upstream-resend", upstream.resend, upstream_resend, "always nor never");
    return upstream;
}

ExportConfig parse_export(const StrictJson& json, const std::string& path) {
    Object object(json, path);
    ExportConfig exp;
    object.required_text("name", exp.name);
    object.required_text("backing", exp.backing);
    object.text("description", exp.description);
    object.flag("read-only", exp.read_only);
    object.flag("direct", exp.direct);
    object.flag("force-shared", exp.force_shared);
    object.flag("default", exp.is_default);
    exp.upstream = parse_upstream(object);
    object.number("queue-depth", exp.queue_depth, queue_depth_max);
    take_word(object, "order", exp.order, start_order, "arrival nor fair");
    object.number("stats-rate", exp.stats_rate, stats_rate_max, 0);
    object.number("client-stats", exp.client_stats, client_stats_max, 0);
    parse_behaviour(object, exp.behaviour);
    exp.crash_cache = parse_crash_cache(object);
    object.no_others();
    return exp;
}

void parse_exports(Object& top, std::vector<ExportConfig>& exports) {
    const StrictJson* array = top.array("exports");
    if (array == nullptr) top.no_others();  // a key that is typed wrong is the likelier fault
    if (array == nullptr || array->empty())
        refuse_key("exports", "none; there must be one at least");
    std::set<std::string> names;
    bool has_default = false;
    for (size_t i = 0; i < array->size(); ++i) {
        const std::string path = fmt::format("exports[{}]", i);
        exports.push_back(parse_export((*array)[i], path));
        const ExportConfig& exp = exports.back();
        if (!names.insert(exp.name).second) {
            refuse_key(path + ".name",
                       fmt::format("'{}' is another export's", nbd::printable(exp.name)));
        }
        if (exp.is_default && has_default)
            refuse_key(path + ".default", "another export is it already");
        has_default = has_default || exp.is_default;
    }
}

nbd::TlsOptions parse_tls(const StrictJson& json) {
    Object object(json, "tls");
    nbd::TlsOptions tls;
    std::string mode;
    object.required_text("mode", mode);
    take_word(object, "mode", tls.mode, nbd::tls_mode, "off, on nor require");
    object.text("certs", tls.certificates);
    object.flag("verify-peer", tls.verify_peer);
    object.text("psk", tls.psk_file);
    object.no_others();
    return tls;
}

ServiceConfig from_json(const StrictJson& json) {
    Object top(json, "");
    ServiceConfig config;
    const std::vector<std::string> listen = top.texts("listen");
    for (size_t i = 0; i < listen.size(); ++i) {
        config.listen.push_back(parse_listen(fmt::format("listen[{}]", i), listen[i]));
    }
    config.allow = top.texts("allow");
    top.flag("list", config.list);
    top.flag("histograms", config.histograms);
    top.flag("busy-wait", config.busy_wait);
    take_word(top, "replies", config.replies, nbd::reply_form, "simple, structured nor extended");
    take_word(top, "client-by", config.client_by, nbd::client_by,
              "connection, peer, address nor none");
    const nbd::AllowList tried(config.allow);
    if (const StrictJson* limits_json = top.find("limits")) {
        Object limits(*limits_json, "limits");
        limits.number("workers", config.workers, workers_max);
        limits.number("connections", config.connections_max, clients_max);
        limits.number("handshakes", config.handshakes_max, clients_max);
        limits.number("handshake-timeout", config.handshake_seconds, handshake_seconds_max);
        limits.number("recorder", config.recorder_records, recorder_records_max, 0);
        limits.no_others();
    }
    if (const StrictJson* tls_json = top.find("tls")) config.tls = parse_tls(*tls_json);
    parse_exports(top, config.exports);
    top.no_others();
    return config;
}

}  // namespace

std::optional<bool> upstream_resend(std::string_view word) {
    if (word == "always") return true;
    if (word == "never") return false;
    return std::nullopt;
}

std::optional<StartOrder> start_order(std::string_view word) {
    if (word == "arrival") return StartOrder::arrival;
    if (word == "fair") return StartOrder::fair;
    return std::nullopt;
}

ServiceConfig parse_config(std::string_view text, const std::string& file) try {
    return from_json(parse_strictly(text));
} catch (const std::invalid_argument& error) {
    throw std::invalid_argument(file + ": " + error.what());
}

ServiceConfig read_config(const std::string& path) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    std::string text(config_bytes_max + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad() || !in.is_open()) throw_errno("read " + path, errno == 0 ? EIO : errno);
    text.resize(static_cast<size_t>(in.gcount()));
    if (text.size() > config_bytes_max) throw std::invalid_argument(path + ": more than 4 MiB");
    return parse_config(text, path);
}

}  // namespace blkscope
