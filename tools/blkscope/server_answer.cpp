#include "tools/blkscope/server_answer.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace blkscope {
namespace {

StrictJson parse(const std::string& line) try {
    return parse_strictly(line);
} catch (const std::invalid_argument& error) {
    refuse_answer(error.what());
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
