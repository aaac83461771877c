#include "driver/nbd/export.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "driver/nbd/worker.hpp"

namespace blkscope::nbd {
namespace {

constexpr uint32_t preferred_block_bytes = 4096;
constexpr uint32_t payload_bytes_max = uint32_t{32}
                                       << 20;  // what clients are told; the usual limit

// One file or memory behind one cache: what is acknowledged on one connection is seen on all, and a
// flush on any covers it. That is CAN_MULTI_CONN.
uint16_t transmission_flags(bool read_only) {
    namespace flag = transmission_flag;
    constexpr uint16_t common = flag::has_flags | flag::send_flush | flag::can_multi_conn;
    constexpr uint16_t writable = common | flag::send_fua | flag::send_trim;
    return read_only ? uint16_t{common | flag::read_only} : writable;
}

}  // namespace

Export::Export(Worker& its_worker, ExportOptions options)
    : worker(its_worker),
      name(std::move(options.name)),
      read_only(options.read_only),
      device(its_worker.ring(), std::move(options.backing), std::move(options.instance),
             options.queue_depth),
      backing_(device.backing().describe()) {}

Export::~Export() {
    kstat_delete(kstat_);
}

ExportInfo Export::info() const {
    const uint32_t minimum = device.backing().block_bytes();
    return {
        .name = name,
        .description = device.name() + ": " + backing_,
        .size_bytes = device.size_bytes(),
        .transmission_flags = transmission_flags(read_only),
        .block_size = {minimum, std::max(minimum, preferred_block_bytes), payload_bytes_max},
    };
}

void Export::publish(const std::string& its_uri) {
    uri_ = its_uri;
    std::array<std::pair<const char*, std::string*>, 3> records{
        {{"name", &name}, {"backing", &backing_}, {"uri", &uri_}}};
    kstat_ = kstat_create("nbd", device.instance(), (device.name() + ",export").c_str(), "misc",
                          KSTAT_TYPE_NAMED, records.size(), 0);
    if (kstat_ == nullptr) return;  // said why; the export is served all the same
    kstat_named_t* record = KSTAT_NAMED_PTR(kstat_);
    for (const auto& [record_name, text] : records) {
        kstat_named_init(record, record_name, KSTAT_DATA_STRING);
        kstat_named_setstr(record++, text->c_str());
    }
    kstat_install(kstat_);
}

}  // namespace blkscope::nbd
