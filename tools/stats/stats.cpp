#include "tools/stats/stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>
#include <string>

#include "tools/iostat/reader.hpp"
#include "tools/iostat/snapshot.hpp"
#include "tools/program/print.hpp"
#include "tools/stats/json.hpp"
#include "tools/stats/reader.hpp"
#include "tools/stats/table.hpp"

namespace blkscope::stats_command {
namespace {

void require_all(const std::vector<std::string>& names, const std::vector<Device>& devices) {
    const std::string place = iostat::run_directory();
    if (names.empty() && devices.empty()) {
        throw std::runtime_error(
            "stats: no device in " + place +
            " has any; 'blkscope serve' publishes them, unless --stats-rate is 0");
    }
    for (const std::string& name : names) {
        const auto is_named = [&](const Device& device) {
            return iostat::is_name_of(name, device.name, device.provider);
        };
        if (std::ranges::any_of(devices, is_named)) continue;
        throw std::runtime_error(
            fmt::format("stats: no device {} in {} has any; 'blkscope list' shows what is served",
                        name, place));
    }
}

std::string tables(const std::vector<Device>& devices) {
    std::string out;
    for (const Device& device : devices) {
        if (!out.empty()) out += '\n';
        out += table(device);
    }
    return out;
}

}  // namespace

void run(const Options& options) {
    const std::vector<Device> devices = read_devices(options.devices);
    require_all(options.devices, devices);
    program::print(options.json ? json(devices, std::time(nullptr)) : tables(devices),
                   "stats: cannot write");
}

}  // namespace blkscope::stats_command
