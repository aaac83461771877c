#include "tools/gstat/filter.hpp"

namespace blkscope::gstat {

Filter::Filter(const std::string& expression) {
    if (expression.empty()) return;
    try {
        regex_ = program::Regex(expression);
    } catch (const program::BadPattern& bad) {
        problem_ = bad.what();
    }
}

bool Filter::shows(const std::string& name) const {
    return !regex_ || regex_->matches(name);
}

}  // namespace blkscope::gstat
