#include "tools/kstat2/report.hpp"

#include "tools/kstat2/format.hpp"

namespace blkscope::kstat2_command {

std::string report(const Options& options, const std::vector<Reading>& readings, std::time_t now) {
    if (options.format == Format::quiet) return {};
    if (options.format == Format::json) {
        const auto time = program::stamp_value(now, options.stamp);
        auto objects = program::Json::array();
        for (const Reading& reading : readings) objects.push_back(json_object(reading, time));
        return objects.block() + "\n";
    }
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
