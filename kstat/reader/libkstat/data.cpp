#include "kstat/reader/libkstat/data.hpp"

#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace blkscope::kstat {
namespace {

std::span<std::byte> data_of(const kstat_t& ksp) {
    return {static_cast<std::byte*>(ksp.ks_data), ksp.ks_data_size};
}

bool has_strings(const kstat_t& ksp) {
    return ksp.ks_type == KSTAT_TYPE_NAMED &&
           ksp.ks_data_size != ksp.ks_ndata * sizeof(kstat_named_t);
}

// The old memory is kept if it is large enough: callers keep pointers into it.
int make_room(kstat_t& ksp, const wire::DataHead& head, Room& room) {
    // Memory at the same place may be other memory, if the caller has freed ours.
    const bool is_ours = room.place != nullptr && room.place == ksp.ks_data;
    const size_t known = is_ours ? std::min(room.size, malloc_usable_size(ksp.ks_data)) : 0;
    if (ksp.ks_data != nullptr && head.data_size <= std::max(known, ksp.ks_data_size)) return 0;
    constexpr uchar_t changes_size = KSTAT_FLAG_VAR_SIZE | KSTAT_FLAG_LONGSTRINGS;
    if (head.data_size > ksp.ks_data_size && (head.flags & changes_size) == 0) return ENOMEM;
    if (head.data_size == 0) return 0;
    void* const memory = std::calloc(1, head.data_size);
    if (memory == nullptr) return ENOMEM;
    std::free(ksp.ks_data);
    ksp.ks_data = memory;
    room = {memory, head.data_size};
    return 0;
}

void take_over(kstat_t& ksp, const wire::DataHead& head) {
    ksp.ks_ndata = head.ndata;
    ksp.ks_data_size = head.data_size;
    ksp.ks_flags = head.flags;
    ksp.ks_snaptime = head.snaptime;
}

// Called after a failed read. ks_data still agrees with ks_ndata and ks_data_size.
void take_over_without_data(kstat_t& ksp, const wire::DataHead& head) {
    if (ksp.ks_data == nullptr) return take_over(ksp, head);
    ksp.ks_flags = head.flags;
    ksp.ks_snaptime = head.snaptime;
}

// A provider may leave a record's name without its NUL; callers compare with strcmp.
void end_names(const kstat_t& ksp) {
    if (ksp.ks_type != KSTAT_TYPE_TIMER) return;
    for (uint_t i = 0; i < ksp.ks_ndata; ++i) KSTAT_TIMER_PTR(&ksp)[i].name[KSTAT_STRLEN - 1] = 0;
}

}  // namespace

void take_over_data(kstat_t& copy, const kstat_t& from) {
    copy.ks_data = from.ks_data;
    copy.ks_ndata = from.ks_ndata;
    copy.ks_data_size = from.ks_data_size;
    copy.ks_flags = from.ks_flags;
    copy.ks_snaptime = from.ks_snaptime;
}

int accept_data(kstat_t& ksp, std::span<std::byte> body, void* buffer, Room& room) {
    wire::Bytes rest(body);
    const auto head = wire::take<wire::DataHead>(rest);
    if (!head || head->type != ksp.ks_type || !wire::is_well_formed(*head, rest.size())) return EIO;
    if (const int error = make_room(ksp, *head, room)) {
        take_over_without_data(ksp, *head);
        return error;
    }
    take_over(ksp, *head);
    if (rest.empty()) return 0;
    std::memcpy(ksp.ks_data, rest.data(), rest.size());
    end_names(ksp);
    if (ksp.ks_type == KSTAT_TYPE_NAMED && !wire::offsets_to_pointers(data_of(ksp), ksp.ks_ndata)) {
        std::memset(ksp.ks_data, 0, ksp.ks_data_size);
        return EIO;
    }
    if (buffer == nullptr) return 0;
    std::memcpy(buffer, ksp.ks_data, ksp.ks_data_size);
    if (has_strings(ksp)) {
        wire::rebase_pointers({static_cast<std::byte*>(buffer), ksp.ks_data_size}, ksp.ks_data,
                              ksp.ks_ndata);
    }
    return 0;
}

void accept_head(kstat_t& ksp, wire::Bytes body) {
    const auto head = wire::take<wire::DataHead>(body);
    if (!head || head->type != ksp.ks_type || !wire::is_well_formed(*head, head->data_size)) return;
    take_over_without_data(ksp, *head);
}

Result<WriteRequest> prepare_write(kstat_t& ksp, const void* buffer) {
    if (ksp.ks_data == nullptr && ksp.ks_data_size > 0 && buffer != nullptr) {
        ksp.ks_data = std::calloc(1, ksp.ks_data_size);
        if (ksp.ks_data == nullptr) return os_error(ENOMEM);
    }
    if (ksp.ks_data == nullptr) return os_error(EINVAL);
    if (buffer != nullptr && buffer != ksp.ks_data) {
        std::memcpy(ksp.ks_data, buffer, ksp.ks_data_size);
        if (has_strings(ksp)) wire::rebase_pointers(data_of(ksp), buffer, ksp.ks_ndata);
    }
    wire::DataHead head{};
    head.data_size = ksp.ks_data_size;
    head.ndata = ksp.ks_ndata;
    head.type = ksp.ks_type;
    head.flags = ksp.ks_flags;
    if (!wire::is_well_formed(head, ksp.ks_data_size)) return os_error(EINVAL);
    const auto live = data_of(ksp);
    std::vector<std::byte> data(live.begin(), live.end());
    if (ksp.ks_type == KSTAT_TYPE_NAMED) {
        wire::rebase_pointers(data, ksp.ks_data, ksp.ks_ndata);
        if (!wire::pointers_to_offsets(data, ksp.ks_ndata)) return os_error(EINVAL);
    }
    return WriteRequest{head, std::move(data)};
}

}  // namespace blkscope::kstat
