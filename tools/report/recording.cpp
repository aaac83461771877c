#include "tools/report/recording.hpp"

#include <utility>

namespace blkscope::report {

namespace {

bool is_charted(std::string_view histogram) {
    return histogram.ends_with("_wait") || histogram.ends_with("_service");
}

bool is_of_transfers(std::string_view histogram) {
    return histogram.starts_with("read_") || histogram.starts_with("write_");
}

}  // namespace

void Recording::add(web::Look look) {
    iostat::Snapshot devices;
    for (const web::DeviceLook& one : look.devices) {
        if (one.is_of_host) continue;
        if (one.device.kind == iostat::Kind::client) clients[one.device.name] = one;
        devices.push_back(one.device);
        std::erase_if(devices.back().histograms, [](const auto& member) {
            return !is_of_transfers(member.first) || !is_charted(member.first);
        });
    }
    summary.add(devices);
    if (looks.empty()) first = look;
    last = std::move(look);
    looks.push_back(std::move(devices));
    if (looks.size() < looks_max) return;
    size_t kept = 0;
    for (size_t i = 0; i < looks.size(); i += 2) looks[kept++] = std::move(looks[i]);
    looks.resize(kept);
    every *= 2;
}

}  // namespace blkscope::report
