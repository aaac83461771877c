#include "tools/kstat2/report.hpp"

#include "tools/kstat/json.hpp"
#include "tools/kstat2/format.hpp"

namespace blkscope::kstat2_command {

namespace {

std::string json_time(const Options& options, std::time_t now) {
    std::string text = program::stamp_line(now, options.stamp);
    while (text.ends_with('\n')) text.pop_back();
    return options.stamp == Stamp::date ? kstat_command::json_string(text) : text;
}

std::string json_report(const std::vector<Reading>& readings, const std::string& time) {
    std::string out = "[";
    for (const Reading& reading : readings) {
        if (out.size() > 1) out += ", ";
        append_object(out, reading, time);
    }
    return out + "]\n";
}

}  // namespace

std::string report(const Options& options, const std::vector<Reading>& readings, std::time_t now) {
    if (options.format == Format::quiet) return {};
    if (options.format == Format::json) return json_report(readings, json_time(options, now));
    std::string out = program::stamp_line(now, options.stamp);
    for (const Reading& reading : readings) {
        if (options.format == Format::blocks) {
            append_block(out, options, reading);
        } else {
            append_lines(out, options, reading);
        }
    }
    return out;
}

}  // namespace blkscope::kstat2_command
