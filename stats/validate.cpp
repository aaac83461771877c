#include "stats/validate.hpp"

#include <blkscope/stats.h>

#include <algorithm>
#include <new>
#include <vector>

#include "stats/digest.hpp"
#include "stats/histogram.hpp"

namespace blkscope::stats {
namespace {

struct Part {
    size_t from;
    size_t to;
};

bool is_header_sound(const Blob& blob, size_t size) {
    const size_t cursz = blob.cursz;
    return cursz >= sizeof(Blob) && cursz <= size && cursz <= blob.maxsz &&
           blob.stats_off >= sizeof(Blob) && blob.stats_off % sizeof(Voi) == 0 &&
           blob.statsdata_off >= blob.stats_off && blob.statsdata_off % sizeof(VoiStat) == 0 &&
           blob.statsdata_off <= cursz;
}

bool is_stat_sound(const Blob& blob, const Voi& voi, const VoiStat& vs, int slot) {
    const size_t end = size_t{vs.data_off} + vs.dsz;
    if (vs.stype != slot || vs.data_off < blob.statsdata_off || end > blob.cursz) return false;
    const void* const data = at<std::byte>(&blob, vs.data_off);
    switch (slot) {
        case VS_STYPE_VOISTATE:
            return vs.dtype == VSD_DTYPE_VOISTATE && vs.dsz == sizeof(voistatdata_numeric) &&
                   (voi.flags & voi_reg_state) != 0;
        case VS_STYPE_HIST:
            return is_histogram(vs.dtype) && bucket_count(histogram_form(vs.dtype), vs.dsz) > 0 &&
                   is_in_order(data, vs.dsz, vs.dtype, voi.dtype);
        case VS_STYPE_TDGST:
            return is_digest(vs.dtype) && is_digest_sound(data, vs.dsz, vs.dtype);
        default:
            return vs.dtype == voi.dtype && vs.dsz == vsd_dtype2size[voi.dtype];
    }
}

// Adds what the VOI occupies to `parts`.
bool is_voi_sound(const Blob& blob, const Voi& voi, size_t slot, std::vector<Part>& parts) {
    if (voi.id < 0) return voi.id == -1 && voi.voistatmaxid == -1;
    if (static_cast<size_t>(voi.id) != slot || !is_numeric(voi.dtype)) return false;
    if (voi.voistatmaxid < 0 || voi.voistatmaxid >= VS_NUM_STYPES) return false;
    const size_t slots = static_cast<size_t>(voi.voistatmaxid) + 1;
    const size_t end = voi.stats_off + slots * sizeof(VoiStat);
    if (voi.stats_off < blob.stats_off || end > blob.statsdata_off) return false;
    parts.push_back({voi.stats_off, end});
    const VoiStat* const group = voistats(&blob, voi);
    if ((voi.flags & voi_reg_state) != 0 && group[VS_STYPE_VOISTATE].stype != VS_STYPE_VOISTATE)
        return false;
    for (size_t i = 0; i < slots; ++i) {
        const VoiStat& vs = group[i];
        if (vs.stype < 0) continue;
        if (!is_stat_sound(blob, voi, vs, static_cast<int>(i))) return false;
        parts.push_back({vs.data_off, size_t{vs.data_off} + vs.dsz});
    }
    return true;
}

bool are_apart(std::vector<Part>& parts) {
    std::sort(parts.begin(), parts.end(), [](Part a, Part b) { return a.from < b.from; });
    return std::adjacent_find(parts.begin(), parts.end(),
                              [](Part a, Part b) { return b.from < a.to; }) == parts.end();
}

}  // namespace

int validate(const Blob* blob, size_t size) {
    if (blob == nullptr || size < sizeof(statsblob)) return EINVAL;
    if (blob->abi != STATS_ABI_V1 || blob->endian != host_endian) return EFTYPE;
    if (size < sizeof(Blob) || !is_header_sound(*blob, size)) return EINVAL;
    try {
        std::vector<Part> parts;
        for (size_t i = 0; i < voi_count(*blob); ++i)
            if (!is_voi_sound(*blob, vois(blob)[i], i, parts)) return EINVAL;
        return are_apart(parts) ? 0 : EINVAL;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

}  // namespace blkscope::stats

extern "C" int stats_blob_validate(const void* blob, size_t size) {
    return blkscope::stats::validate(static_cast<const statsblobv1*>(blob), size);
}
