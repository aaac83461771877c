#include "tools/blkscope/strict_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "driver/nbd/text.hpp"
#include "tools/program/nearest.hpp"

namespace blkscope {
namespace {

// More than any configuration has. A request of nothing but brackets ends here.
constexpr int depth_max = 16;

// Refuses the second of two equal keys. The library takes the last one without a message.
class NoKeyTwice {
  public:
    bool operator()(int depth, StrictJson::parse_event_t event, const StrictJson& parsed) {
        if (depth > depth_max) throw std::invalid_argument("nested too deeply");
        if (event == StrictJson::parse_event_t::object_start) seen_.emplace_back();
        if (event == StrictJson::parse_event_t::object_end) seen_.pop_back();
        if (event == StrictJson::parse_event_t::key) {
            const auto key = parsed.get<std::string>();
            if (!seen_.back().insert(key).second) refuse_key(nbd::printable(key), "given twice");
        }
        return true;
    }

  private:
    std::vector<std::set<std::string>> seen_;  // the keys of each object that is open
};

// The library's message is "[json.exception...] parse error at line 2, column 3: <why>". Without a
// line and a column it is "[json.exception...] <why>".
[[noreturn]] void refuse_syntax(const StrictJson::exception& error) {
    const std::string_view what = error.what();
    for (const std::string_view lead : {"parse error at ", "] "}) {
        const size_t at = what.find(lead);
        if (at == std::string_view::npos) continue;
        throw std::invalid_argument(std::string(what.substr(at + lead.size())));
    }
    throw std::invalid_argument(std::string(what));
}

}  // namespace

void refuse_key(const std::string& key, const std::string& why) {
    throw std::invalid_argument(key.empty() ? why : key + ": " + why);
}

StrictJson parse_strictly(std::string_view text) {
    try {
        return StrictJson::parse(text, NoKeyTwice(), true, true);
    } catch (const StrictJson::exception& error) {
        refuse_syntax(error);
    }
}

StrictObject::StrictObject(const StrictJson& json, std::string path)
    : json_(json), path_(std::move(path)) {
    if (!json.is_object()) refuse_key(path_, "not an object, as in { \"key\": \"value\" }");
}

std::string StrictObject::path_of(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
}

const StrictJson* StrictObject::find(const std::string& key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
}

const StrictJson* StrictObject::array(const std::string& key) {
    const StrictJson* json = find(key);
    if (json != nullptr && !json->is_array()) refuse_key(path_of(key), "not an array, as in [ ]");
    return json;
}

void StrictObject::text(const std::string& key, std::string& value) {
    const StrictJson* json = find(key);
    if (json == nullptr) return;
    if (!json->is_string()) refuse_key(path_of(key), "not a string");
    value = json->get<std::string>();
    if (!nbd::valid_string(value)) refuse_key(path_of(key), "not UTF-8 of at most 4096 bytes");
}

void StrictObject::required_text(const std::string& key, std::string& value) {
    text(key, value);
    if (value.empty()) refuse_key(path_of(key), "missing or empty");
}

void StrictObject::flag(const std::string& key, bool& value) {
    const StrictJson* json = find(key);
    if (json == nullptr) return;
    if (!json->is_boolean()) refuse_key(path_of(key), "neither true nor false");
    value = json->get<bool>();
}

void StrictObject::number(const std::string& key, unsigned& value, unsigned largest,
                          unsigned least) {
    const StrictJson* json = find(key);
    if (json == nullptr) return;
    if (!json->is_number_unsigned() || json->get<uint64_t>() < least ||
        json->get<uint64_t>() > largest) {
        refuse_key(path_of(key), fmt::format("{} is not {} to {}", json->dump(), least, largest));
    }
    value = json->get<unsigned>();
}

void StrictObject::number(const std::string& key, std::optional<uint64_t>& value) {
    const StrictJson* json = find(key);
    if (json == nullptr) return;
    if (!json->is_number_unsigned()) refuse_key(path_of(key), json->dump() + " is no whole number");
    value = json->get<uint64_t>();
}

void StrictObject::item(const std::string& key, std::vector<std::string>& items) {
    const StrictJson* json = find(key);
    if (json == nullptr) return;
    if (json->is_number_unsigned()) return items.push_back(key + "=" + json->dump());
    if (!json->is_string()) refuse_key(path_of(key), "neither a string nor a whole number");
    items.push_back(key + "=" + json->get<std::string>());
}

std::vector<std::string> StrictObject::texts(const std::string& key) {
    std::vector<std::string> values;
    const StrictJson* json = array(key);
    for (size_t i = 0; json != nullptr && i < json->size(); ++i) {
        if (!(*json)[i].is_string())
            refuse_key(fmt::format("{}[{}]", path_of(key), i), "not a string");
        values.push_back((*json)[i].get<std::string>());
    }
    return values;
}

void StrictObject::no_others() const {
    for (const auto& [key, value] : json_.items()) {
        if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
        const auto near = program::nearest(key, known_);
        refuse_key(path_of(nbd::printable(key)),
                   fmt::format("no such key; there are {}{}", fmt::join(known_, ", "),
                               near ? fmt::format("; the nearest is '{}'", *near) : ""));
    }
}

}  // namespace blkscope
