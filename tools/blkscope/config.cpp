#include "tools/blkscope/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "driver/nbd/server/allow_list.hpp"
#include "driver/nbd/text.hpp"
#include "tools/program/options.hpp"

namespace blkscope {
namespace {

using Json = nlohmann::json;

constexpr std::string_view unix_prefix = "unix:";

// Throws an error about a value. parse_config() adds the file's name.
[[noreturn]] void refuse(const std::string& key, const std::string& why) {
    throw std::invalid_argument(key.empty() ? why : key + ": " + why);
}

// One object of the file. Returns its values by key, and at the end refuses the keys that were not
// asked for.
class Object {
  public:
    Object(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
        if (!json.is_object()) refuse(path_, "not an object, as in { \"key\": \"value\" }");
    }

    [[nodiscard]] std::string path_of(const std::string& key) const {
        return path_.empty() ? key : path_ + "." + key;
    }

    /// The value of the key; null if the key is missing.
    const Json* find(const std::string& key) {
        known_.push_back(key);
        const auto found = json_.find(key);
        return found == json_.end() ? nullptr : &*found;
    }

    void text(const std::string& key, std::string& value) {
        const Json* json = find(key);
        if (json == nullptr) return;
        if (!json->is_string()) refuse(path_of(key), "not a string");
        value = json->get<std::string>();
        if (!nbd::valid_string(value)) refuse(path_of(key), "not UTF-8 of at most 4096 bytes");
    }

    void required_text(const std::string& key, std::string& value) {
        text(key, value);
        if (value.empty()) refuse(path_of(key), "missing or empty");
    }

    void flag(const std::string& key, bool& value) {
        const Json* json = find(key);
        if (json == nullptr) return;
        if (!json->is_boolean()) refuse(path_of(key), "neither true nor false");
        value = json->get<bool>();
    }

    void number(const std::string& key, unsigned& value, unsigned largest, unsigned least = 1) {
        const Json* json = find(key);
        if (json == nullptr) return;
        if (!json->is_number_unsigned() || json->get<uint64_t>() < least ||
            json->get<uint64_t>() > largest) {
            refuse(path_of(key), fmt::format("{} is not {} to {}", json->dump(), least, largest));
        }
        value = json->get<unsigned>();
    }

    /// The array of the key; null if the key is missing.
    const Json* array(const std::string& key) {
        const Json* json = find(key);
        if (json != nullptr && !json->is_array()) refuse(path_of(key), "not an array, as in [ ]");
        return json;
    }

    std::vector<std::string> texts(const std::string& key) {
        std::vector<std::string> values;
        const Json* json = array(key);
        for (size_t i = 0; json != nullptr && i < json->size(); ++i) {
            if (!(*json)[i].is_string())
                refuse(fmt::format("{}[{}]", path_of(key), i), "not a string");
            values.push_back((*json)[i].get<std::string>());
        }
        return values;
    }

    void no_others() const {
        for (const auto& [key, value] : json_.items()) {
            if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
            refuse(path_of(nbd::printable(key)),
                   fmt::format("no such key; there are {}", fmt::join(known_, ", ")));
        }
    }

  private:
    const Json& json_;
    std::string path_;
    std::vector<std::string> known_;
};

uint16_t parse_port(const std::string& key, std::string_view text) {
    const auto port = program::decimal<uint16_t>(text);
    if (!port) refuse(key, fmt::format("port '{}' is not 0 to 65535", text));
    return *port;
}

// Parses unix:PATH, ADDRESS:PORT or [V6-ADDRESS]:PORT.
ListenAddress parse_listen(const std::string& key, std::string_view text) {
    if (text.starts_with(unix_prefix) && text.size() > unix_prefix.size()) {
        return {.unix_path = std::string(text.substr(unix_prefix.size()))};
    }
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        refuse(key, fmt::format("'{}' is neither unix:PATH nor ADDRESS:PORT", text));
    }
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return {.host = std::string(host), .port = parse_port(key, text.substr(colon + 1))};
}

ExportConfig parse_export(const Json& json, const std::string& path) {
    Object object(json, path);
    ExportConfig exp;
    object.required_text("name", exp.name);
    object.required_text("backing", exp.backing);
    object.text("description", exp.description);
    object.flag("read-only", exp.read_only);
    object.flag("direct", exp.direct);
    object.flag("force-shared", exp.force_shared);
    object.flag("default", exp.is_default);
    object.number("queue-depth", exp.queue_depth, queue_depth_max);
    object.number("stats-rate", exp.stats_rate, stats_rate_max, 0);
    object.no_others();
    return exp;
}

void parse_exports(Object& top, std::vector<ExportConfig>& exports) {
    const Json* array = top.array("exports");
    if (array == nullptr || array->empty()) refuse("exports", "none; there must be one at least");
    std::set<std::string> names;
    bool has_default = false;
    for (size_t i = 0; i < array->size(); ++i) {
        const std::string path = fmt::format("exports[{}]", i);
        exports.push_back(parse_export((*array)[i], path));
        const ExportConfig& exp = exports.back();
        if (!names.insert(exp.name).second) {
            refuse(path + ".name",
                   fmt::format("'{}' is another export's", nbd::printable(exp.name)));
        }
        if (exp.is_default && has_default)
            refuse(path + ".default", "another export is it already");
        has_default = has_default || exp.is_default;
    }
}

nbd::TlsOptions parse_tls(const Json& json) {
    Object object(json, "tls");
    nbd::TlsOptions tls;
    std::string mode;
    object.required_text("mode", mode);
    const auto found = nbd::tls_mode(mode);
    if (!found) refuse("tls.mode", fmt::format("'{}' is neither off, on nor require", mode));
    tls.mode = *found;
    object.text("certs", tls.certificates);
    object.flag("verify-peer", tls.verify_peer);
    object.text("psk", tls.psk_file);
    object.no_others();
    return tls;
}

nbd::ReplyForm parse_replies(const std::string& word) {
    const auto found = nbd::reply_form(word);
    if (!found) {
        refuse("replies", fmt::format("'{}' is neither simple, structured nor extended", word));
    }
    return *found;
}

ServiceConfig from_json(const Json& json) {
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
    if (top.find("replies") != nullptr) {
        std::string replies;
        top.text("replies", replies);
        config.replies = parse_replies(replies);
    }
    const nbd::AllowList tried(config.allow);
    if (const Json* limits_json = top.find("limits")) {
        Object limits(*limits_json, "limits");
        limits.number("workers", config.workers, workers_max);
        limits.number("connections", config.connections_max, clients_max);
        limits.number("handshakes", config.handshakes_max, clients_max);
        limits.number("handshake-timeout", config.handshake_seconds, handshake_seconds_max);
        limits.no_others();
    }
    if (const Json* tls_json = top.find("tls")) config.tls = parse_tls(*tls_json);
    parse_exports(top, config.exports);
    top.no_others();
    return config;
}

// Refuses the second of two equal keys. The library takes the last one without a message.
class NoKeyTwice {
  public:
    bool operator()(int, Json::parse_event_t event, const Json& parsed) {
        if (event == Json::parse_event_t::object_start) seen_.emplace_back();
        if (event == Json::parse_event_t::object_end) seen_.pop_back();
        if (event == Json::parse_event_t::key) {
            const auto key = parsed.get<std::string>();
            if (!seen_.back().insert(key).second) refuse(nbd::printable(key), "given twice");
        }
        return true;
    }

  private:
    std::vector<std::set<std::string>> seen_;  // the keys of each object that is open
};

// The library's message is "[json.exception...] parse error at line 2, column 3: <why>".
[[noreturn]] void refuse_syntax(const Json::parse_error& error) {
    const std::string_view what = error.what();
    constexpr std::string_view lead = "parse error at ";
    const size_t at = what.find(lead);
    throw std::invalid_argument(
        std::string(at == std::string_view::npos ? what : what.substr(at + lead.size())));
}

}  // namespace

ServiceConfig parse_config(std::string_view text, const std::string& file) try {
    try {
        return from_json(Json::parse(text, NoKeyTwice(), true, true));
    } catch (const Json::parse_error& error) {
        refuse_syntax(error);
    }
} catch (const std::invalid_argument& error) {
    throw std::invalid_argument(file + ": " + error.what());
}

ServiceConfig read_config(const std::string& path) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in || !text) {
        throw std::system_error(errno == 0 ? EIO : errno, std::generic_category(), "read " + path);
    }
    return parse_config(text.str(), path);
}

}  // namespace blkscope
