#include "tools/gstat/filter.hpp"

#include <array>

namespace blkscope::gstat {

Filter::Filter(const std::string& expression) {
    if (expression.empty()) return;
    const int error = regcomp(&regex_, expression.c_str(), REG_EXTENDED | REG_NOSUB);
    compiled_ = error == 0;
    if (compiled_) return;
    std::array<char, 256> text{};
    regerror(error, &regex_, text.data(), text.size());
    problem_ = text.data();
}

Filter::~Filter() {
    if (compiled_) regfree(&regex_);
}

bool Filter::shows(const std::string& name) const {
    return !compiled_ || regexec(&regex_, name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace blkscope::gstat
