#include "driver/nbd/server/export.hpp"

#include <blkscope/geometry.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "blockdev/backing/crash_backing.hpp"
#include "driver/nbd/transmission/worker.hpp"

namespace blkscope::nbd {
namespace {

static_assert(BLKSCOPE_GEOMETRY_READ_ONLY == transmission_flag::read_only &&
              BLKSCOPE_GEOMETRY_FLUSH == transmission_flag::send_flush &&
              BLKSCOPE_GEOMETRY_FUA == transmission_flag::send_fua &&
              BLKSCOPE_GEOMETRY_ROTATIONAL == transmission_flag::rotational &&
              BLKSCOPE_GEOMETRY_TRIM == transmission_flag::send_trim &&
              BLKSCOPE_GEOMETRY_WRITE_ZEROES == transmission_flag::send_write_zeroes &&
              BLKSCOPE_GEOMETRY_CACHE == transmission_flag::send_cache &&
              BLKSCOPE_GEOMETRY_FAST_ZERO == transmission_flag::send_fast_zero &&
              BLKSCOPE_GEOMETRY_MULTI_CONN == transmission_flag::can_multi_conn);

constexpr uint32_t sector_bytes_min = 512;

// CAN_MULTI_CONN: all connections share one file or memory and one cache. So each connection sees
// all acknowledged writes, and any flush covers them.
uint16_t transmission_flags(const Backing& backing, bool read_only) {
    namespace flag = transmission_flag;
    const Abilities can = backing.abilities();
    uint16_t flags = flag::has_flags | flag::can_multi_conn;
    const auto add = [&](bool offered, uint16_t bit) {
        if (offered) flags |= bit;
    };
    add(can.flush, flag::send_flush);
    add(read_only, flag::read_only);
    add(!read_only && can.fua, flag::send_fua);
    add(!read_only && can.trim, flag::send_trim);
    add(!read_only && can.write_zeroes, flag::send_write_zeroes);
    add(!read_only && can.write_zeroes && can.fast_zero, flag::send_fast_zero);
    add(backing.has_cache(), flag::send_cache);
    add(backing.rotational(), flag::rotational);
    return flags;
}

}  // namespace

Export::Export(Worker& its_worker, ExportOptions options)
    : worker(its_worker),
      name(std::move(options.name)),
      description(std::move(options.description)),
      read_only(options.read_only || options.backing->abilities().read_only),
      is_default(options.is_default),
      crash_cache(std::move(options.crash_cache)),
      device(its_worker.ring(), std::move(options.backing), std::move(options.instance),
             {.queue_depth = options.queue_depth,
              .order = options.order,
              .stats_rate = options.stats_rate,
              .client_stats = options.client_stats,
              .behaviour = std::move(options.behaviour),
              .table = std::move(options.table)}),
      backing_(device.backing().describe()),
      crash_cache_text_(crash_cache ? crash_cache->text() : "") {}

Export::~Export() {
    assert(visitors.load() == 0);
}

ExportInfo Export::info() const {
    const uint32_t minimum = device.backing().block_bytes();
    const Abilities can = device.backing().abilities();
    return {
        .name = name,
        .description = description.empty() ? device.name() + ": " + backing_ : description,
        .size_bytes = device.size_bytes(),
        .transmission_flags = transmission_flags(device.backing(), read_only),
        .block_size = {minimum, std::max(minimum, can.block_bytes_preferred),
                       can.request_bytes_max},
        .is_default = is_default,
        .allocation = can.holes,
    };
}

void Export::publish(const std::string& its_uri) {
    kstat_.reset();  // the destructor waits for readers of the old kstat, which use uri_
    uri_ = its_uri;
    published_ = true;
    if (device.instance() < 0) return;
    publish_names();
    publish_geometry();
}

// Returns null on failure. kstat_create() has logged the reason, and the export is served without.
OwnedKstat Export::create_kstat(const char* what, uchar_t type, uint_t records) const {
    const std::string kstat_name = device.name() + "," + what;
    return OwnedKstat(kstat_create(device_module, device.instance(), kstat_name.c_str(), "misc",
                                   type, records, 0));
}

void Export::publish_names() {
    std::vector<std::pair<const char*, std::string*>> records{
        {"name", &name}, {"backing", &backing_}, {"uri", &uri_}};
    if (crash_cache) records.emplace_back("crash_cache", &crash_cache_text_);
    kstat_ = create_kstat("export", KSTAT_TYPE_NAMED, static_cast<uint_t>(records.size() + 1));
    if (!kstat_) return;
    kstat_named_t* record = KSTAT_NAMED_PTR(kstat_);
    for (const auto& [record_name, text] : records) {
        kstat_named_init(record, record_name, KSTAT_DATA_STRING);
        kstat_named_setstr(record++, text->c_str());
    }
    kstat_named_init(record, "pid", KSTAT_DATA_INT32);
    record->value.i32 = getpid();
    kstat_install(kstat_.get());
}

void Export::publish_geometry() {
    geometry_kstat_.reset();
    geometry_kstat_ = create_kstat("geometry", KSTAT_TYPE_RAW, sizeof(blkscope_geometry));
    if (!geometry_kstat_) return;
    const ExportInfo told = info();
    const blkscope_geometry geometry{
        .version = BLKSCOPE_GEOMETRY_VERSION,
        .transmission_flags = told.transmission_flags,
        .size_bytes = told.size_bytes,
        .sector_bytes = std::max(sector_bytes_min, told.block_size.minimum),
        .block_bytes_min = told.block_size.minimum,
        .block_bytes_preferred = told.block_size.preferred,
        .block_bytes_max = told.block_size.maximum,
        .queue_depth = device.queue_depth(),
        .reserved = 0,
    };
    assert(geometry_kstat_->ks_data != nullptr);
    assert(geometry_kstat_->ks_data_size == sizeof geometry);
    std::memcpy(geometry_kstat_->ks_data, &geometry, sizeof geometry);
    geometry_kstat_->ks_private = &device;
    geometry_kstat_->ks_update = update_geometry;
    kstat_install(geometry_kstat_.get());
}

// The depth and the size are the only figures that change while the device serves.
int Export::update_geometry(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    assert(ksp->ks_data_size == sizeof(blkscope_geometry));
    const auto* const device = static_cast<const Device*>(ksp->ks_private);
    auto* const geometry = static_cast<blkscope_geometry*>(ksp->ks_data);
    geometry->queue_depth = device->queue_depth();
    geometry->size_bytes = device->size_bytes();
    return 0;
}

}  // namespace blkscope::nbd
