#include "kstat/registry/operations.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>

#include "kstat/registry/data_lock.hpp"
#include "kstat/registry/defaults.hpp"

namespace blkscope::kstat {
namespace {

// A provider's update routine may leave the strings out of ks_data_size. The strings get the room
// that they need.
int refresh(kstat_t& header) {
    if (const int error = header.ks_update(&header, KSTAT_READ)) return error;
    const size_t told = header.ks_data_size;
    const bool has_records =
        header.ks_type == KSTAT_TYPE_NAMED && told >= header.ks_ndata * sizeof(kstat_named_t);
    if (!has_records || header.ks_snapshot != default_snapshot) return 0;
    if (const int error = default_update(&header, KSTAT_READ)) return error;
    header.ks_data_size = std::max(header.ks_data_size, told);
    return 0;
}

// The data is zeroed, because the records need not fill it.
int copy_data(kstat_t& header, ZeroedBytes& data) try {
    if (header.ks_data_size > data_size_max) return EFBIG;
    data = ZeroedBytes(header.ks_data_size);
    return header.ks_snapshot(&header, data.data(), KSTAT_READ);
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

bool lies_in(const std::span<const std::byte>& area, const char* text, size_t length) {
    const auto* const start = reinterpret_cast<const std::byte*>(text);
    const std::less_equal<> not_after;  // also valid for pointers into different objects
    return not_after(area.data(), start) && not_after(start, area.data() + area.size()) &&
           length <= static_cast<size_t>(area.data() + area.size() - start);
}

// The provider alone chooses the types, and strings must lie behind the records.
bool records_fit(const kstat_t& header, std::span<const std::byte> data) {
    const size_t records_size = header.ks_ndata * sizeof(kstat_named_t);
    if (records_size > data.size()) return false;
    const auto strings = data.subspan(records_size);
    for (uint_t i = 0; i < header.ks_ndata; ++i) {
        kstat_named_t record;
        std::memcpy(&record, data.data() + i * sizeof record, sizeof record);
        if (header.ks_data != nullptr && record.data_type != KSTAT_NAMED_PTR(&header)[i].data_type)
            return false;
        if (record.data_type != KSTAT_DATA_STRING || KSTAT_NAMED_STR_PTR(&record) == nullptr)
            continue;
        if (!lies_in(strings, KSTAT_NAMED_STR_PTR(&record), KSTAT_NAMED_STR_BUFLEN(&record)))
            return false;
    }
    return true;
}

int write_locked(kstat_t& header, uint_t ndata, std::span<std::byte> data) {
    if (const int error = refresh(header)) return error;
    if (data.size() != header.ks_data_size || ndata != header.ks_ndata) return EINVAL;
    if (header.ks_type == KSTAT_TYPE_NAMED && !records_fit(header, data)) return EINVAL;
    if (const int error = header.ks_snapshot(&header, data.data(), KSTAT_WRITE)) return error;
    return header.ks_update(&header, KSTAT_WRITE);
}

}  // namespace

Reading read_kstat(Chain& chain, kid_t kid) {
    Reading reading;
    const auto held = chain.hold(kid, GLOBAL_ZONEID);
    kstat_t* const header = held ? held->get() : nullptr;
    if (header == nullptr) {
        reading.error = ENXIO;
    } else if ((header->ks_flags & KSTAT_FLAG_INVALID) != 0) {
        reading.error = EAGAIN;
    } else {
        const DataLock locked(header->ks_lock);
        reading.error = refresh(*header);
        if (reading.error != 0) return reading;
        reading.error = copy_data(*header, reading.data);
        reading.reached = true;
        reading.header = *header;
        if (reading.error != 0) reading.data = {};
    }
    return reading;
}

int write_kstat(Chain& chain, kid_t kid, uint_t ndata, std::span<std::byte> data) {
    const auto held = chain.hold(kid, GLOBAL_ZONEID);
    if (!held) return ENXIO;
    kstat_t& header = *held->get();
    if ((header.ks_flags & KSTAT_FLAG_INVALID) != 0) return EAGAIN;
    if ((header.ks_flags & KSTAT_FLAG_WRITABLE) == 0) return EACCES;
    const DataLock locked(header.ks_lock);
    return write_locked(header, ndata, data);
}

}  // namespace blkscope::kstat
