#include "tools/web/reader.hpp"

#include <blkscope/geometry.h>

#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "tools/iostat/host.hpp"
#include "tools/program/kstats.hpp"
#include "tools/top/settings_reader.hpp"

namespace blkscope::web {

namespace {

iostat::Options reader_options() {
    iostat::Options options;
    options.mode = iostat::Mode::extended;
    options.partitions = true;
    options.clients = true;
    options.errors = true;
    return options;
}

void copy_numbers(kstat_t* ksp, std::map<std::string, uint64_t, std::less<>>& numbers) {
    if (ksp->ks_type != KSTAT_TYPE_NAMED || ksp->ks_data == nullptr) return;
    for (uint_t i = 0; i < ksp->ks_ndata; ++i) {
        const kstat_named_t& record = KSTAT_NAMED_PTR(ksp)[i];
        if (record.data_type != KSTAT_DATA_UINT64) continue;
        numbers[program::field_text(record.name)] = record.value.ui64;
    }
}

std::optional<uint64_t> depth_of(kstat_t* ksp) {
    blkscope_geometry_t geometry{};
    if (ksp->ks_type != KSTAT_TYPE_RAW || ksp->ks_data_size < sizeof(geometry)) return {};
    std::memcpy(&geometry, ksp->ks_data, sizeof(geometry));
    if (geometry.version < BLKSCOPE_GEOMETRY_VERSION) return {};
    return geometry.queue_depth;
}

}  // namespace

Reader::Reader() : devices_(reader_options()) {}

Look Reader::look() {
    Look look{.time = gethrtime(), .devices = {}};
    std::vector<iostat::Device> devices = devices_.read();
    histograms_.read_into(devices);
    for (iostat::Device& device : devices) {
        DeviceLook one{.device = std::move(device)};
        one.is_of_host = iostat::is_host_device(one.device);
        if (!one.is_of_host) read_beside(one);
        look.devices.push_back(std::move(one));
    }
    return look;
}

// The kstats beside an IO kstat: of a client its identity, of a disk the rest.
void Reader::read_beside(DeviceLook& look) {
    const iostat::Device& device = look.device;
    if (device.kind == iostat::Kind::client) {
        kstat_t* const info = read_beside(device, "info");
        if (info == nullptr) return;
        look.program = program::text_record(info, "program").value_or("");
        look.peer = program::text_record(info, "peer").value_or("");
    } else if (device.kind == iostat::Kind::disk) {
        if (kstat_t* ksp = read_beside(device, "cmds")) copy_numbers(ksp, look.commands);
        if (kstat_t* ksp = read_beside(device, "geometry")) look.queue_depth = depth_of(ksp);
        look.settings =
            top::read_settings(devices_.chain(), device.module, device.instance, device.name);
    }
}

kstat_t* Reader::read_beside(const iostat::Device& device, const char* what) {
    return program::read_kstat(devices_.chain(), device.module, device.instance,
                               device.name + "," + what);
}

}  // namespace blkscope::web
