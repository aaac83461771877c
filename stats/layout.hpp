// A blob as it lies in memory: ABI 1 of FreeBSD's stats(3), to the byte.
//
//     statsblobv1            32 bytes; its first 8 are the public struct statsblob
//     voi [0..max id]         8 bytes each
//     voistat groups          8 bytes a slot; a VOI's group is indexed by enum voi_stype
//     data                    of the statistics, packed
//
// Adding a VOI to a template puts its slots before the older groups and its data before the older
// data. Offsets count from the blob's first byte. Data may be misaligned, and so may a blob from
// elsewhere. So every struct here is packed, and values go through load() and store().
#pragma once
#include <sys/stats.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

struct [[gnu::packed]] statsblobv1 {
    uint8_t abi;
    uint8_t endian;
    uint16_t flags;
    uint16_t maxsz;
    uint16_t cursz;
    uint32_t tplhash;
    uint16_t stats_off;
    uint16_t statsdata_off;
    int64_t created;  // seconds << 32 | fraction, CLOCK_MONOTONIC
    int64_t lastrst;
};
static_assert(sizeof(statsblobv1) == 32);

namespace blkscope::stats {

using Blob = statsblobv1;

struct [[gnu::packed]] Voi {
    int16_t id;
    uint8_t dtype;
    int8_t voistatmaxid;
    uint16_t stats_off;
    uint16_t flags;
};
static_assert(sizeof(Voi) == 8);

struct [[gnu::packed]] VoiStat {
    int8_t stype;
    uint8_t dtype;
    uint16_t data_off;
    uint16_t dsz;
    uint8_t errs;
    uint8_t flags;
};
static_assert(sizeof(VoiStat) == 8);

constexpr Voi vacant_voi{-1, 0, -1, 0, 0};
constexpr VoiStat vacant_voistat{-1, 0, 0, 0, 0, 0};

constexpr uint16_t voi_reg_state = 1;    // Voi::flags: it has a VOISTATE
constexpr uint8_t vs_valid = 1;          // VoiStat::flags: it was updated
constexpr size_t blob_size_max = 65535;  // cursz has 16 bits
constexpr uint8_t host_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? SB_LE : SB_BE;

template <class T>
T load(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void store(void* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

/// The part of a blob that begins at an offset.
template <class T>
T* at(Blob* blob, size_t offset) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(blob) + offset);
}
template <class T>
const T* at(const Blob* blob, size_t offset) {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(blob) + offset);
}

inline size_t voi_count(const Blob& blob) {
    return blob.stats_off < sizeof(Blob) ? 0 : (blob.stats_off - sizeof(Blob)) / sizeof(Voi);
}

template <class B>
auto* vois(B* blob) {
    return at<Voi>(blob, sizeof(Blob));
}

/// The group of statistics of a VOI.
template <class B>
auto* voistats(B* blob, const Voi& voi) {
    return at<VoiStat>(blob, voi.stats_off);
}

/// A VOI that is there, or null.
template <class B>
auto* find_voi(B* blob, int32_t id) {
    auto* const all = vois(blob);
    const bool there = id >= 0 && static_cast<size_t>(id) < voi_count(*blob) && all[id].id >= 0;
    return there ? &all[id] : nullptr;
}

inline bool is_numeric(int dtype) {
    return dtype >= VSD_DTYPE_INT_S32 && dtype <= VSD_DTYPE_Q_U64;
}
inline bool is_histogram(int dtype) {
    return dtype >= VSD_DTYPE_CRHIST32 && dtype <= VSD_DTYPE_DVHIST64;
}
inline bool is_digest(int dtype) {
    return dtype == VSD_DTYPE_TDGSTCLUST32 || dtype == VSD_DTYPE_TDGSTCLUST64;
}

inline voistatdata* data_of(Blob* blob, const VoiStat& vs) {
    return at<voistatdata>(blob, vs.data_off);
}

}  // namespace blkscope::stats
