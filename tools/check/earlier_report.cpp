#include "tools/check/earlier_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "tools/iostat/json.hpp"
#include "tools/program/foreign_json.hpp"

namespace blkscope::check {
namespace {

using nlohmann::json;

constexpr size_t report_bytes_max = size_t{64} << 20;

const json& member(const json& object, const char* key) {
    if (!object.is_object()) throw std::invalid_argument(fmt::format("no object has the {}", key));
    const auto found = object.find(key);
    if (found == object.end()) throw std::invalid_argument(fmt::format("there is no {}", key));
    return *found;
}

uint64_t number(const json& value, const char* what,
                uint64_t most = std::numeric_limits<int64_t>::max()) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > most) {
        throw std::invalid_argument(fmt::format("{} is no whole number in range", what));
    }
    return value.get<uint64_t>();
}

uint64_t number_of(const json& object, const char* key,
                   uint64_t most = std::numeric_limits<int64_t>::max()) {
    return number(member(object, key), key, most);
}

std::string text_of(const json& object, const char* key) {
    const json& value = member(object, key);
    if (!value.is_string()) throw std::invalid_argument(fmt::format("{} is no string", key));
    return value.get<std::string>();
}

kstat_io_t counters_of(const json& counters) {
    constexpr uint64_t most = std::numeric_limits<uint_t>::max();
    kstat_io_t io{};
    io.reads = static_cast<uint_t>(number_of(counters, "reads", most));
    io.writes = static_cast<uint_t>(number_of(counters, "writes", most));
    io.wtime = static_cast<hrtime_t>(number_of(counters, "wtime_ns"));
    io.wlentime = static_cast<hrtime_t>(number_of(counters, "wlentime_ns"));
    io.rtime = static_cast<hrtime_t>(number_of(counters, "rtime_ns"));
    io.rlentime = static_cast<hrtime_t>(number_of(counters, "rlentime_ns"));
    return io;
}

iostat::ErrorRecords errors_of(const json& errors) {
    iostat::ErrorRecords records;
    if (errors.is_null()) return records;
    for (const char* key : {"soft", "hard", "transport"}) {
        const uint64_t count = number_of(errors, key, std::numeric_limits<uint32_t>::max());
        records.push_back({.name = key, .value = static_cast<uint32_t>(count)});
    }
    const std::string refused(iostat::refused_requests);
    const auto named = errors.find("records");
    if (named != errors.end() && named->is_object() && named->contains(refused)) {
        const uint64_t count =
            number((*named)[refused], refused.c_str(), std::numeric_limits<uint32_t>::max());
        records.push_back({.name = refused, .value = static_cast<uint32_t>(count)});
    }
    return records;
}

kstat2_nv_hist_type_t type_of(const std::string& name) {
    const auto* const found = std::ranges::find(iostat::histogram_types, name);
    if (found == iostat::histogram_types.end()) {
        throw std::invalid_argument("a histogram has an unknown type");
    }
    return static_cast<kstat2_nv_hist_type_t>(found - iostat::histogram_types.begin());
}

// Null is a histogram that was empty.
iostat::Histogram histogram_from(const json& object) {
    if (object.is_null()) {
        return {.shape = {KSTAT2_NVHIST_LOG2, 0, 0, 0}, .unit = "ns"};
    }
    iostat::Histogram histogram{
        .shape = {type_of(text_of(object, "type")), number_of(object, "range_min"),
                  number_of(object, "range_max"), number_of(object, "stepping")},
        .unit = text_of(object, "unit")};
    const json& counts = member(object, "counts");
    if (!counts.is_array() || histogram.shape.why_invalid() != nullptr ||
        counts.size() > histogram.shape.count()) {
        throw std::invalid_argument("a histogram's counts do not fit its shape");
    }
    for (const json& count : counts) histogram.counts.push_back(number(count, "a count"));
    if (!member(object, "sum").is_null()) histogram.sum = number_of(object, "sum");
    return histogram;
}

DeviceLook device_from(const json& object) {
    DeviceLook look;
    iostat::Device& device = look.device;
    device.name = text_of(object, "device");
    device.module = text_of(object, "module");
    device.instance = static_cast<int>(
        number_of(object, "instance", static_cast<uint64_t>(std::numeric_limits<int>::max())));
    device.kind = iostat::kind_of(text_of(object, "class")).value_or(iostat::Kind::controller);
    device.crtime = static_cast<hrtime_t>(number_of(object, "crtime_ns"));
    device.snaptime = static_cast<hrtime_t>(number_of(object, "snaptime_ns"));
    device.io = counters_of(member(object, "counters"));
    device.errors = errors_of(member(object, "errors"));
    if (const auto commands = object.find("commands"); commands != object.end()) {
        if (!commands->is_object()) throw std::invalid_argument("commands is no object");
        for (const auto& [name, count] : commands->items()) {
            look.commands[name] = number(count, "a count");
        }
    }
    const auto histograms = object.find("histograms");
    if (histograms == object.end() || histograms->is_null()) return look;
    if (!histograms->is_object()) throw std::invalid_argument("histograms is no object");
    for (const auto& [name, histogram] : histograms->items()) {
        device.histograms.emplace(name, histogram_from(histogram));
    }
    const auto crtimes = object.find("histogram_crtimes_ns");
    if (crtimes == object.end()) return look;
    for (auto& [name, histogram] : device.histograms) {
        histogram.crtime = static_cast<hrtime_t>(number_of(*crtimes, name.c_str()));
    }
    return look;
}

Look look_from(const json& report) {
    if (text_of(report, "schema") != "blockdev.iostat/1") {
        throw std::invalid_argument("its schema is not that of iostat -j");
    }
    if (member(report, "since_creation") != json(true)) {
        throw std::invalid_argument(
            "its first line is not since the devices' creation; make it with 'blkscope check "
            "--save'");
    }
    const json& devices = member(report, "devices");
    if (!devices.is_array()) throw std::invalid_argument("devices is no array");
    Look look;
    for (const json& device : devices) {
        look.devices.push_back(device_from(device));
        look.time = std::max(look.time, look.devices.back().device.snaptime);
    }
    if (!look.devices.empty()) return look;
    if (member(report, "snaptime_ns").is_null()) {
        throw std::invalid_argument(
            "it has no device, and so no time; make it with 'blkscope check --save'");
    }
    look.time = static_cast<hrtime_t>(number_of(report, "snaptime_ns"));
    return look;
}

}  // namespace

std::string report_text(const Look& look) {
    iostat::Snapshot devices;
    for (const DeviceLook& one : look.devices) devices.push_back(one.device);
    json report = json::parse(iostat::json_devices(nullptr, devices, std::time(nullptr), true));
    if (look.devices.empty()) report["snaptime_ns"] = look.time;
    for (size_t i = 0; i < look.devices.size(); ++i) {
        const DeviceLook& one = look.devices[i];
        if (!one.commands.empty()) report["devices"][i]["commands"] = one.commands;
        for (const auto& [name, histogram] : one.device.histograms) {
            report["devices"][i]["histogram_crtimes_ns"][name] = histogram.crtime;
        }
    }
    return report.dump() + "\n";
}

Look parse_report(const std::string& text) {
    const json report = program::parse_foreign(text.substr(0, text.find('\n')));
    if (report.is_discarded()) throw std::invalid_argument("its first line is no JSON");
    return look_from(report);
}

Look read_report(const std::string& path) {
    const auto fail = [&](const std::string& why) {
        throw std::invalid_argument(fmt::format("check: --since {}: {}", path, why));
    };
    std::ifstream file(path, std::ios::binary);
    if (!file) fail(std::generic_category().message(errno));
    std::string text;
    std::array<char, 65536> chunk;
    while (file.read(chunk.data(), chunk.size()), file.gcount() > 0) {
        text.append(chunk.data(), static_cast<size_t>(file.gcount()));
        if (text.size() > report_bytes_max) fail("it is larger than 64 MiB");
        if (text.find('\n', text.size() - static_cast<size_t>(file.gcount())) != text.npos) break;
    }
    try {
        return parse_report(text);
    } catch (const std::invalid_argument& failure) {
        fail(failure.what());
    }
    return {};
}

}  // namespace blkscope::check
