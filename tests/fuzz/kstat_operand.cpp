// Feeds any bytes to the parser of kstat's operands, and what comes of it to some names.
//
// The parser may refuse them, by BadPattern alone. Regular expressions with many repetitions are left
// out, because the C library's time for them has no bound (docs/limits.md).
// Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.hpp"
#include "tools/kstat/pattern.hpp"

namespace {

using namespace blkscope::kstat_command;

constexpr std::array<std::string_view, 5> names{"", "nbd0", "cpu_stat13", "a.b/c\\[d]*\n",
                                                "\xff\x80 aaaaaaaaaaaaaaaaaaaaaaaaaab"};

void match_all(const Pattern& pattern) {
    for (const std::string_view name : names) static_cast<void>(pattern.matches(name));
}

bool is_soon_compiled(std::string_view operand) {
    constexpr std::string_view repetitions = "*+?{";
    if (operand.find('/') == std::string_view::npos) return true;
    return std::ranges::count_if(
               operand, [&](char c) { return repetitions.find(c) != std::string_view::npos; }) <= 8;
}

void match(std::string_view operand) {
    if (!is_soon_compiled(operand)) return;
    const Selector selector = parse_selector(operand);
    match_all(selector.module);
    match_all(selector.instance);
    match_all(selector.name);
    match_all(selector.statistic);
}

// Any text with every byte quoted is a pattern for itself and nothing longer.
void match_quoted(std::string_view text) {
    std::string quoted;
    for (const char c : text) {
        quoted += '\\';
        quoted += c;
    }
    require(Glob(quoted).matches(text));
    require(!Glob(quoted).matches(std::string(text) + "x"));
    require(Glob(quoted + "*").matches(std::string(text) + "x"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view operand(reinterpret_cast<const char*>(data), size);
    match_quoted(operand);
    try {
        match(operand);
    } catch (const BadPattern&) {  // refused, as it may be
    }
    return 0;
}
