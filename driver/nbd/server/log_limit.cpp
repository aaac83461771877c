#include "driver/nbd/server/log_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "base/log_line.hpp"

namespace blkscope::nbd {

bool LogLimit::admit(Time now) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now - given_back_);
    spent_ -= static_cast<unsigned>(std::min<int64_t>(spent_, seconds.count()));
    given_back_ += seconds;
    assert(spent_ <= burst);
    if (spent_ == burst) {
        ++left_out_;
        return false;
    }
    ++spent_;
    assert(spent_ <= burst);
    return true;
}

void LogLimit::print(std::string_view line, Time now) {
    if (!admit(now)) return;
    if (const uint64_t lines = take_left_out()) {
        log_line(fmt::format("{} lines about clients left out", lines));
    }
    log_line(line);
}

}  // namespace blkscope::nbd
