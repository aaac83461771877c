#include "tools/program/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace blkscope::program {

std::string shown(const std::string& name) {
    const std::string quoted = json_string(name);
    return quoted.size() == name.size() + 2 ? name : quoted;
}

// Uses the number format of nlohmann::json, in which earlier versions of the tools wrote reports.
Json::Json(double number) : text_(nlohmann::json(number).dump()) {}

Json::Json(std::string_view text) : text_(json_string(text)) {}

Json::Json(std::initializer_list<Member> members) : Json(object()) {
    for (const Member& member : members) add(member.name, member.value);
}

Json Json::number(std::string digits) {
    Json number;
    number.text_ = std::move(digits);
    return number;
}

void Json::add(std::string name, Json value) {
    names_.push_back(std::move(name));
    values_.push_back(std::move(value));
}

Json& Json::operator[](std::string_view name) {
    kind_ = Kind::object;
    const auto found = std::ranges::find(names_, name);
    const auto at = static_cast<size_t>(found - names_.begin());
    if (found == names_.end()) add(std::string(name), {});
    return values_[at];
}

struct Json::Layout {
    size_t levels;  // of objects whose members have a line each
    std::string_view comma;
    std::string_view colon;
};

std::string Json::line() const {
    std::string out;
    append(out, {0, ",", ":"}, 0);
    return out;
}

std::string Json::block() const {
    std::string out;
    append(out, {2, ", ", ": "}, 0);
    return out;
}

// `depth`: how many objects this one is in.
void Json::append(std::string& out, const Layout& layout, size_t depth) const {
    if (kind_ == Kind::text) {
        out += text_;
        return;
    }
    const bool object = kind_ == Kind::object;
    const bool over_lines = object && depth < layout.levels && !values_.empty();
    const std::string indent = over_lines ? "\n" + std::string(depth + 1, '\t') : "";
    out += object ? '{' : '[';
    for (size_t i = 0; i < values_.size(); ++i) {
        if (i > 0) out += over_lines ? "," : layout.comma;
        out += indent;
        if (object) out.append(json_string(names_[i])).append(layout.colon);
        values_[i].append(out, layout, object ? depth + 1 : depth);
    }
    if (over_lines) out += indent.substr(0, depth + 1);
    out += object ? '}' : ']';
}

}  // namespace blkscope::program
