// Feeds any bytes to the parser of kstat2's operands.
//
// The parser may refuse them. An accepted text can be made again from its parts, and no URI has a
// statistic in it. Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the
// corpus and random bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.hpp"
#include "tools/kstat2/options.hpp"

namespace {

using namespace blkscope::kstat2_command;

std::string text_of(const Operand& operand) {
    return operand.statistic ? operand.uri + ":" + *operand.statistic : operand.uri;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto operand = parse_operand(text);
    if (!operand) return 0;
    constexpr std::string_view scheme = "kstat:";
    require(operand->uri.starts_with("kstat:/"));
    require(operand->uri.find_first_of(";:", scheme.size()) == std::string::npos);
    require(operand->uri.find("//") == std::string::npos);
    require(!operand->statistic || !operand->statistic->empty());
    const auto again = parse_operand(text_of(*operand));
    require(again && again->uri == operand->uri && again->statistic == operand->statistic);
    return 0;
}
