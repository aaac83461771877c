// Devices as input of the tests.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "tools/iostat/processors.hpp"
#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

constexpr hrtime_t one_second = 1'000'000'000;

/// A device that was created at second 100 and never had a request.
inline Device idle_device(const std::string& name, Kind kind = Kind::disk) {
    Device device;
    device.module = "sd";
    device.name = name;
    device.kind = kind;
    device.crtime = 100 * one_second;
    device.snaptime = 200 * one_second + 123'456'789;
    return device;
}

/// A device with a history: every counter differs from the others.
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

/// The device a second later, after 100 reads and 50 writes.
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

/// Two processors since the system's start 100 s ago: 6 % user, 4 % system, 90 % idle. Each second
/// 3 characters were read from terminals, and 120 were written.
inline Processors two_processors() {
    const auto ticks_per_s = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    Processors processors(2);
    for (Processor& processor : processors) {
        processor.snaptime = 100 * one_second;
        processor.idle_ticks = 90 * ticks_per_s;
        processor.user_ticks = 6 * ticks_per_s;
        processor.kernel_ticks = 4 * ticks_per_s;
    }
    processors[1].id = 1;
    processors[0].characters_in = 300;
    processors[0].characters_out = 5'000;
    processors[1].characters_out = 7'000;
    return processors;
}

/// The records that a disk's driver publishes about its errors.
inline ErrorRecords error_records() {
    return {{"Soft Errors", 1U},
            {"Hard Errors", 2U},
            {"Transport Errors", 3U},
            {"Vendor", "ATA"},
            {"Product", "VBOX HARDDISK"},
            {"Revision", "1.0"},
            {"Serial No", "VB12345678"},
            {"Size", uint64_t{17'179'869'184}},
            {"Media Error", 0U},
            {"Device Not Ready", 0U},
            {"No Device", 0U},
            {"Recoverable", 0U},
            {"Illegal Request", 4U},
            {"Predictive Failure Analysis", 0U}};
}

/// A histogram of times as our devices publish it, with these numbers of requests.
inline Histogram times(const std::vector<std::pair<uint64_t, uint64_t>>& ns_and_requests) {
    Histogram histogram{.shape = {KSTAT2_NVHIST_LOG10_LIN, 3, 10, 20}, .counts = {}, .unit = "ns"};
    histogram.counts.resize(histogram.shape.count());
    histogram.sum = 0;
    for (const auto& [ns, requests] : ns_and_requests) {
        histogram.counts[histogram.shape.index(ns)] += requests;
        *histogram.sum += ns * requests;
    }
    return histogram;
}

/// A histogram by powers of two, with these numbers of requests.
inline Histogram powers(const std::vector<std::pair<uint64_t, uint64_t>>& ns_and_requests) {
    Histogram histogram{.shape = {KSTAT2_NVHIST_LOG2, 0, 0, 0}, .counts = {}, .unit = "ns"};
    histogram.counts.resize(histogram.shape.count());
    for (const auto& [ns, requests] : ns_and_requests) {
        histogram.counts[histogram.shape.index(ns)] += requests;
    }
    return histogram;
}

/// A device with histograms. Of its reads, 980 wait 5 us and take 120 us, and 20 wait 3 ms and take
/// 45 ms. There are two writes, and no flush yet.
inline Device device_with_histograms(const std::string& name = "nbd0") {
    Device device = busy_device(name);
    device.histograms = {{"read_wait", times({{5'000, 980}, {3'000'000, 20}})},
                         {"read_service", times({{120'000, 980}, {45'000'000, 20}})},
                         {"read_total", times({{125'000, 980}, {48'000'000, 20}})},
                         {"write_wait", times({{900, 2}})},
                         {"write_service", times({{70'000, 2}})},
                         {"write_total", times({{70'900, 2}})},
                         {"flush_wait", times({})},
                         {"flush_service", times({})},
                         {"flush_total", times({})},
                         {"latency", powers({{125'000, 980}, {48'000'000, 20}, {70'900, 2}})}};
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
