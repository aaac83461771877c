// The fuzz target of kstat's operands, on random operands. Their characters all have a meaning in
// operands, so more of them parse than of mutated bytes.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace blkscope {
namespace {

void try_operand(const std::string& operand) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(operand.data()), operand.size());
}

TEST(KstatOperandFuzz, AHundredThousandRandomOperandsAreParsedOrRefused) {
    constexpr std::array pieces{"a",   "nbd", "0",     ":",    "/",      "/:/",   "*",   "?",
                                "[",   "]",   "!",     "-",    "^",      "$",     "\\",  "(",
                                ")",   "|",   "+",     "{",    "}",      ",",     ".",   "(?",
                                "(*",  "[[:", ":]]",   "[.",   ".]",     "[=",    "=]",  "\\Q",
                                "\\E", "\\d", "{1,9}", "(?R)", "(?1)",   "(?=",   "(?<", "\\1",
                                "\n",  " ",   "\xff",  "\\x{", "[[.-.]", "(a+)+", "{9}", "\\p{L}"};
    std::mt19937 random(20261121);
    for (int i = 0; i < 100'000; ++i) {
        std::string operand;
        const size_t length = random() % 14;
        for (size_t j = 0; j < length; ++j) operand += pieces[random() % pieces.size()];
        if (random() % 2 == 0) operand = "/" + operand + "/";
        if (random() % 4 == 0) operand += static_cast<char>(random());
        try_operand(operand);
    }
}

}  // namespace
}  // namespace blkscope
