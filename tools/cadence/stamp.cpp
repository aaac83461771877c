#include "cadence/stamp.hpp"

#include <fmt/format.h>
#include <langinfo.h>

#include <array>

namespace blkscope {

std::string stamp_line(std::time_t now, Stamp stamp) {
    switch (stamp) {
        case Stamp::none:
            return {};
        case Stamp::epoch:
            return fmt::format("{}\n", now);
        case Stamp::date:
            break;
    }
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 256> text{};
    const size_t length = std::strftime(text.data(), text.size(), nl_langinfo(_DATE_FMT), &local);
    return std::string(text.data(), length) + "\n";
}

}  // namespace blkscope
