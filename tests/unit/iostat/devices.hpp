// Devices for the tests to report on.
#ifndef IOSTAT_TEST_DEVICES_HPP
#define IOSTAT_TEST_DEVICES_HPP

#include <string>
#include <vector>

#include "iostat/snapshot.hpp"

namespace blkscope::iostat {

constexpr hrtime_t one_second = 1'000'000'000;

/// A device that has been there since second 100 and never had a request.
inline Device idle_device(const std::string& name, Kind kind = Kind::disk) {
    Device device;
    device.module = "sd";
    device.name = name;
    device.kind = kind;
    device.crtime = 100 * one_second;
    device.snaptime = 200 * one_second + 123'456'789;
    return device;
}

/// One with a history: every counter differs from the others.
inline Device busy_device(const std::string& name = "sd0") {
    Device device = idle_device(name);
    device.io.reads = 1000;
    device.io.nread = 8'192'000;
    device.io.writes = 500;
    device.io.nwritten = 2'048'000;
    device.io.wtime = 1 * one_second;
    device.io.wlentime = 2 * one_second;
    device.io.rtime = 50 * one_second;
    device.io.rlentime = 75 * one_second;
    return device;
}

/// The same one a second later, after 100 reads and 50 writes.
inline Device one_second_later(Device device) {
    device.snaptime += one_second;
    device.io.reads += 100;
    device.io.nread += 819'200;
    device.io.writes += 50;
    device.io.nwritten += 204'800;
    device.io.wtime += one_second / 10;
    device.io.wlentime += one_second / 5;
    device.io.rtime += one_second / 2;
    device.io.rlentime += one_second * 3 / 2;
    return device;
}

inline std::vector<Device> idle_devices(const std::vector<std::string>& names) {
    std::vector<Device> devices;
    for (const std::string& name : names) devices.push_back(idle_device(name));
    return devices;
}

inline std::vector<std::string> names_of(const Snapshot& snapshot) {
    std::vector<std::string> names;
    for (const Device& device : snapshot) names.push_back(device.name);
    return names;
}

}  // namespace blkscope::iostat

#endif
