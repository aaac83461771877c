#include "rbd/place.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <vector>

namespace blkscope::rbd {
namespace {

constexpr std::string_view scheme = "rbd:";

[[noreturn]] void refuse(std::string_view spec, const std::string& why) {
    throw std::invalid_argument(std::string(spec) + ": " + why);
}

std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts;
    for (;;) {
        const size_t end = text.find(at);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

void parse_parameter(std::string_view spec, const std::string& parameter, Place& place) {
    const size_t equals = parameter.find('=');
    const std::string name = parameter.substr(0, equals);
    if (name != "conf" && name != "id") {
        refuse(spec, "the parameter '" + name + "' is neither conf nor id");
    }
    std::string& value = name == "conf" ? place.conf : place.user;
    if (!value.empty()) refuse(spec, "the parameter " + name + " is given twice");
    if (equals == std::string::npos || equals + 1 == parameter.size()) {
        refuse(spec, "the parameter " + name + " has no value");
    }
    value = parameter.substr(equals + 1);
}

void parse_image(std::string_view spec, const std::string& text, Place& place) {
    const size_t at = text.find('@');
    place.image = text.substr(0, at);
    if (place.image.empty()) refuse(spec, "the name of the image is empty");
    if (at == std::string::npos) return;
    place.snapshot = text.substr(at + 1);
    if (place.snapshot.empty()) refuse(spec, "the name of the snapshot is empty");
}

}  // namespace

std::string Place::text() const {
    std::string text = std::string(scheme) + pool + "/";
    if (!name_space.empty()) text += name_space + "/";
    text += image;
    return snapshot.empty() ? text : text + "@" + snapshot;
}

Place parse_place(std::string_view spec) {
    assert(spec.starts_with(scheme));
    // A zero byte would end the text for librbd before its end.
    if (std::ranges::count(spec, '\0') > 0) {
        throw std::invalid_argument("rbd: the name of an image has a zero byte");
    }
    Place place;
    const std::string_view rest = spec.substr(scheme.size());
    const size_t question = rest.find('?');
    const std::vector<std::string> names = split(rest.substr(0, question), '/');
    if (names.size() < 2 || names.size() > 3) {
        refuse(spec, "not of the form rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT]");
    }
    place.pool = names.front();
    if (place.pool.empty()) refuse(spec, "the name of the pool is empty");
    if (names.size() == 3) {
        place.name_space = names[1];
        if (place.name_space.empty()) refuse(spec, "the name of the namespace is empty");
    }
    parse_image(spec, names.back(), place);
    if (question != std::string_view::npos) {
        for (const std::string& parameter : split(rest.substr(question + 1), '&')) {
            parse_parameter(spec, parameter, place);
        }
    }
    return place;
}

}  // namespace blkscope::rbd
