#include "tools/blkscope/server_answer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "driver/nbd/text.hpp"

namespace blkscope {
namespace {

bool is_printable(std::string_view text) {
    return std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
}

// The texts are shown on a terminal. parse_strictly() bounds the depth.
void require_printable(const StrictJson& json) {
    if (json.is_string() && !is_printable(json.get_ref<const std::string&>())) {
        refuse_answer("a text has a control character");
    }
    if (!json.is_structured()) return;
    for (const auto& [key, value] : json.items()) {
        if (!is_printable(key)) refuse_answer("a key has a control character");
        require_printable(value);
    }
}

StrictJson parse(const std::string& line) try {
    StrictJson answer = parse_strictly(line);
    if (!answer.is_object()) refuse_answer("no object");
    require_printable(answer);
    return answer;
} catch (const std::invalid_argument& error) {
    refuse_answer(nbd::printable(error.what()));  // a part of the line, as it came
}

}  // namespace

void refuse_answer(const std::string& why) {
    throw std::runtime_error("the server's answer: " + why);
}

StrictJson parse_answer(const std::string& line) try {
    StrictJson answer = parse(line);
    if (!answer.contains("error")) return answer;
    const auto why = answer.at("error").get<std::string>();
    if (answer.value("status", 1) == 2) throw std::invalid_argument(why);
    throw std::runtime_error(why);
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

}  // namespace blkscope
