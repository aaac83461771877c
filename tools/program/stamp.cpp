#include "tools/program/stamp.hpp"

#include <fmt/format.h>
#include <langinfo.h>

#include <array>
#include <clocale>

namespace blkscope::program {

void use_language_for_dates() {
    std::setlocale(LC_TIME, "");  // NOLINT(concurrency-mt-unsafe): before any thread could exist
}

std::optional<Stamp> stamp_of(std::string_view letter) {
    if (letter == "u") return Stamp::epoch;
    if (letter == "d") return Stamp::date;
    return {};
}

// Tools have one thread, and set their locale before they print.
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
    const char* const format = nl_langinfo(_DATE_FMT);  // NOLINT(concurrency-mt-unsafe): see above
    const size_t length = std::strftime(text.data(), text.size(), format, &local);
    return std::string(text.data(), length) + "\n";
}

std::optional<Json> stamp_value(std::time_t now, Stamp stamp) {
    std::string text = stamp_line(now, stamp);
    if (text.empty()) return {};
    text.pop_back();  // the newline
    return stamp == Stamp::epoch ? Json(now) : Json(text);
}

}  // namespace blkscope::program
