#include "tools/kstat/pattern.hpp"

#include <array>

namespace blkscope::kstat_command {
namespace {

std::variant<Glob, Regex> matcher(std::string_view text) {
    if (text.size() >= 2 && text.front() == '/' && text.back() == '/') {
        return Regex(text.substr(1, text.size() - 2));
    }
    return Glob(text);
}

}  // namespace

Pattern::Pattern(std::string_view text) : matcher_(matcher(text)) {}

bool Pattern::matches(std::string_view text) const {
    return std::visit([&](const auto& form) { return form.matches(text); }, matcher_);
}

Selector parse_selector(std::string_view operand) {
    Selector selector;
    const std::array fields{&selector.module, &selector.instance, &selector.name,
                            &selector.statistic};
    for (Pattern* field : fields) {
        const size_t colon = operand.find(':');
        const std::string_view text = operand.substr(0, colon);
        if (!text.empty()) *field = Pattern(text);
        if (colon == std::string_view::npos) return selector;
        operand.remove_prefix(colon + 1);
    }
    throw BadPattern("");
}

}  // namespace blkscope::kstat_command
