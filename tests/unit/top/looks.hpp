// Looks as input of the tests: devices whose requests take known times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "iostat/devices.hpp"
#include "tools/top/model.hpp"

namespace blkscope::top {

using iostat::one_second;

/// Ten buckets, each a factor of ten apart: below 1 us, 1 us, 10 us, ..., 100 s and more.
inline Bounds decades() {
    static const Bounds bounds = std::make_shared<const std::vector<uint64_t>>(
        std::vector<uint64_t>{0, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000,
                              1'000'000'000, 10'000'000'000, 100'000'000'000});
    return bounds;
}

constexpr hrtime_t first_look = 200 * one_second;

/// A device that never had a request, at its first look.
inline DeviceLook idle_look(const std::string& name) {
    DeviceLook look;
    look.device = iostat::idle_device(name);
    look.device.module = "nbd";
    look.device.snaptime = first_look;
    look.size_bytes = 64 << 20;
    look.block_bytes = 512;
    look.queue_depth = 8;
    look.clients = 1;
    look.latencies = {.crtime = look.device.crtime,
                      .bounds = decades(),
                      .wait = std::vector<uint64_t>(decades()->size()),
                      .service = std::vector<uint64_t>(decades()->size())};
    return look;
}

/// Adds `requests` reads of 4 KiB, one after another. Each has this wait and service time.
inline void do_reads(DeviceLook& look, unsigned requests, uint64_t wait_ns, uint64_t service_ns) {
    const auto bucket_of = [&](uint64_t ns) {
        return std::ranges::upper_bound(*decades(), ns) - decades()->begin() - 1;
    };
    look.latencies.wait[static_cast<size_t>(bucket_of(wait_ns))] += requests;
    look.latencies.service[static_cast<size_t>(bucket_of(service_ns))] += requests;
    kstat_io_t& io = look.device.io;
    io.reads += requests;
    io.nread += u_longlong_t{requests} * 4096;
    io.wlentime += static_cast<hrtime_t>(requests * wait_ns);
    io.wtime += static_cast<hrtime_t>(requests * wait_ns);
    io.rlentime += static_cast<hrtime_t>(requests * service_ns);
    io.rtime += static_cast<hrtime_t>(requests * service_ns);
}

inline Look look_at(hrtime_t time, std::vector<DeviceLook> devices) {
    for (DeviceLook& look : devices) look.device.snaptime = time;
    return {.time = time, .devices = std::move(devices)};
}

}  // namespace blkscope::top
