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

// A library that is asked to make an integer of a large fraction has no answer for it.
uint64_t count_at(const StrictJson& told, const char* key, uint64_t most) {
    const StrictJson& count = told.at(key);
    const bool whole = count.is_number_integer() && count >= 0;
    if (!whole || count.get<uint64_t>() > most) refuse_answer(std::string(key) + " is no number");
    return count.get<uint64_t>();
}

int64_t time_at(const StrictJson& told, const char* key) {
    constexpr int64_t time_max = std::numeric_limits<int64_t>::max() / 4;
    const StrictJson& time = told.at(key);
    if (!time.is_number_integer() || time < -time_max || time > time_max) {
        refuse_answer(std::string(key) + " is no time");
    }
    return time.get<int64_t>();
}

StrictJson parse_answer(const std::string& line) try {
    StrictJson answer = parse(line);
    if (!answer.contains("error")) return answer;
    const auto why = answer.at("error").get<std::string>();
    const auto status = answer.find("status");
    if (status != answer.end() && *status == 2) throw std::invalid_argument(why);
    throw std::runtime_error(why);
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

}  // namespace blkscope
