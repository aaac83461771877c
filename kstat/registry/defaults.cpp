#include "kstat/registry/defaults.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/clock.hpp"
#include "kstat/registry/queues.hpp"
#include "kstat/registry/snapshot.hpp"

namespace blkscope::kstat {
namespace {

std::span<kstat_named_t> named_records(void* data, uint_t count) {
    return {static_cast<kstat_named_t*>(data), count};
}

bool holds_a_string(const kstat_named_t& record) {
    return record.data_type == KSTAT_DATA_STRING && KSTAT_NAMED_STR_PTR(&record) != nullptr;
}

// The records come first, then the strings in the records' order. Each record points at its own
// copy. A string without room in ks_data_size is left out: it appeared after kstat_install.
void copy_named(const kstat_t* ksp, char* buffer) {
    const size_t records_size = std::min(ksp->ks_ndata * sizeof(kstat_named_t), ksp->ks_data_size);
    std::memcpy(buffer, ksp->ks_data, records_size);
    std::span<char> room(buffer + records_size, ksp->ks_data_size - records_size);
    for (kstat_named_t& record :
         named_records(buffer, static_cast<uint_t>(records_size / sizeof(kstat_named_t)))) {
        if (!holds_a_string(record)) continue;
        const size_t length = KSTAT_NAMED_STR_BUFLEN(&record);
        if (length > room.size()) {
            kstat_named_setstr(&record, nullptr);
            continue;
        }
        std::memcpy(room.data(), KSTAT_NAMED_STR_PTR(&record), length);
        KSTAT_NAMED_STR_PTR(&record) = room.data();
        room = room.subspan(length);
    }
}

void copy_out(const kstat_t* ksp, void* buffer, hrtime_t now) {
    switch (ksp->ks_type) {
        case KSTAT_TYPE_NAMED:
            copy_named(ksp, static_cast<char*>(buffer));
            return;
        case KSTAT_TYPE_IO: {
            const kstat_io_t copy = io_snapshot(*KSTAT_IO_PTR(ksp), now);
            std::memcpy(buffer, &copy, sizeof copy);
            return;
        }
        default:
            std::memcpy(buffer, ksp->ks_data, ksp->ks_data_size);
    }
}

void scale_times(kstat_io_t& io, hrtime_t (*scale)(hrtime_t)) {
    for (hrtime_t* time :
         {&io.wtime, &io.wlentime, &io.wlastupdate, &io.rtime, &io.rlentime, &io.rlastupdate}) {
        *time = scale(*time);
    }
}

void copy_in(kstat_t* ksp, const void* buffer) {
    std::memcpy(ksp->ks_data, buffer, ksp->ks_data_size);
    if (ksp->ks_type == KSTAT_TYPE_IO) scale_times(*KSTAT_IO_PTR(ksp), to_ticks);
}

}  // namespace

size_t record_size(uchar_t type) {
    switch (type) {
        case KSTAT_TYPE_RAW:
            return 1;
        case KSTAT_TYPE_NAMED:
            return sizeof(kstat_named_t);
        case KSTAT_TYPE_INTR:
            return sizeof(kstat_intr_t);
        case KSTAT_TYPE_IO:
            return sizeof(kstat_io_t);
        case KSTAT_TYPE_TIMER:
            return sizeof(kstat_timer_t);
        default:
            return 0;
    }
}

kstat_io_t io_snapshot(const kstat_io_t& live, hrtime_t now) {
    kstat_io_t io = live;
    detail::charge_until(detail::waitq(io), now);
    detail::charge_until(detail::runq(io), now);
    scale_times(io, to_ns);
    return io;
}

int default_update(kstat_t* ksp, int) {
    constexpr uchar_t changes_size = KSTAT_FLAG_VAR_SIZE | KSTAT_FLAG_LONGSTRINGS;
    if (ksp->ks_type != KSTAT_TYPE_NAMED || ksp->ks_data == nullptr) return 0;
    if ((ksp->ks_flags & changes_size) == 0) return 0;
    size_t size = ksp->ks_ndata * sizeof(kstat_named_t);
    for (const kstat_named_t& record : named_records(ksp->ks_data, ksp->ks_ndata)) {
        if (holds_a_string(record)) size += KSTAT_NAMED_STR_BUFLEN(&record);
    }
    ksp->ks_data_size = size;
    return 0;
}

int default_snapshot(kstat_t* ksp, void* buffer, int rw) {
    const hrtime_t now = now_unscaled();
    ksp->ks_snaptime = to_ns(now);
    if (rw == KSTAT_WRITE && (ksp->ks_flags & KSTAT_FLAG_WRITABLE) == 0) return EACCES;
    if (ksp->ks_data == nullptr || ksp->ks_data_size == 0) return 0;
    if (rw == KSTAT_WRITE) {
        copy_in(ksp, buffer);
    } else {
        copy_out(ksp, buffer, now);
    }
    return 0;
}

}  // namespace blkscope::kstat

extern "C" int default_kstat_update(kstat_t* ksp, int rw) {
    return blkscope::kstat::default_update(ksp, rw);
}
