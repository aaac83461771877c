#include "tools/stats/blob.hpp"

#include <blkscope/stats.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "stats/device_template/io_stats_template.hpp"

namespace blkscope::stats_command {
namespace {

constexpr std::array<std::pair<const char*, double>, 4> shares{
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}};

// Values in a blob may lie at any address.
template <class T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// A number of 4 or 8 bytes; `from` is its own first byte. A bound of a histogram has eight bytes,
// and a narrow number lies in the less significant four. For these, bound() computes `from`.
Number number(const std::byte* from, vsd_dtype dtype) {
    switch (dtype) {
        case VSD_DTYPE_INT_S32:
            return int64_t{load<int32_t>(from)};
        case VSD_DTYPE_INT_U32:
            return uint64_t{load<uint32_t>(from)};
        case VSD_DTYPE_INT_S64:
        case VSD_DTYPE_INT_SLONG:
            return load<int64_t>(from);
        case VSD_DTYPE_INT_U64:
        case VSD_DTYPE_INT_ULONG:
            return load<uint64_t>(from);
        case VSD_DTYPE_Q_S32:
            return Q_Q2D(load<s32q_t>(from));
        case VSD_DTYPE_Q_U32:
            return Q_Q2D(load<u32q_t>(from));
        case VSD_DTYPE_Q_S64:
            return Q_Q2D(load<s64q_t>(from));
        case VSD_DTYPE_Q_U64:
            return Q_Q2D(load<u64q_t>(from));
        default:
            return uint64_t{0};  // a valid blob has no other type
    }
}

bool is_narrow(vsd_dtype dtype) {
    return dtype == VSD_DTYPE_INT_S32 || dtype == VSD_DTYPE_INT_U32 || dtype == VSD_DTYPE_Q_S32 ||
           dtype == VSD_DTYPE_Q_U32;
}

Number bound(const std::byte* from, vsd_dtype dtype) {
    const bool behind = std::endian::native == std::endian::big && is_narrow(dtype);
    return number(from + (behind ? sizeof(uint32_t) : 0), dtype);
}

// A head of eight bytes that counts the values outside, then the buckets. A bucket is a bound or
// two, and a count that has room for 64 bits.
struct HistogramLayout {
    size_t bucket_bytes;
    size_t count_at;
    bool wide;  // the counts have 64 bits
};

HistogramLayout layout_of(vsd_dtype dtype) {
    constexpr size_t bound_bytes = sizeof(voistatdata_numeric);
    const bool wide =
        dtype == VSD_DTYPE_CRHIST64 || dtype == VSD_DTYPE_DRHIST64 || dtype == VSD_DTYPE_DVHIST64;
    const bool ranges = dtype == VSD_DTYPE_DRHIST32 || dtype == VSD_DTYPE_DRHIST64;
    const size_t bounds = ranges ? 2 * bound_bytes : bound_bytes;
    return {bounds + sizeof(uint64_t), bounds, wide};
}

uint64_t count(const std::byte* from, bool wide) {
    return wide ? load<uint64_t>(from) : load<uint32_t>(from);
}

void read_histogram(Variable& variable, const sb_visit& visit) {
    const HistogramLayout layout = layout_of(visit.vs_dtype);
    const auto* at = reinterpret_cast<const std::byte*>(visit.vs_data);
    const auto* const end = at + static_cast<uint16_t>(visit.vs_dsz);  // large sizes look negative
    variable.outside = count(at, layout.wide);
    for (at += sizeof(uint64_t); at + layout.bucket_bytes <= end; at += layout.bucket_bytes) {
        variable.buckets.push_back(
            {bound(at, visit.voi_dtype), count(at + layout.count_at, layout.wide)});
    }
    if (variable.count) return;
    variable.count =
        std::accumulate(variable.buckets.begin(), variable.buckets.end(), variable.outside,
                        [](uint64_t sum, const Bucket& bucket) { return sum + bucket.count; });
}

void read_digest(Variable& variable, statsblob* blob, const sb_visit& visit) {
    variable.count = count(reinterpret_cast<const std::byte*>(visit.vs_data),
                           visit.vs_dtype == VSD_DTYPE_TDGSTCLUST64);
    for (const auto& [name, share] : shares) {
        double value = 0;
        if (stats_voi_quantile(blob, visit.voi_id, share, &value) != 0) return;
        variable.quantiles.push_back({name, value});
    }
}

std::string name_of(const sb_visit& visit) {
    IoStatsTemplate::make();
    statsblob_tpl* tpl = nullptr;
    voistatdata* data = nullptr;
    const int number = stats_tpl_fetch_allocid(nullptr, visit.tplhash);
    // A blob may name the wrong template, and have variables that the template lacks.
    const bool known =
        number >= 0 && stats_tpl_fetch(number, &tpl) == 0 &&
        stats_voistat_fetch_dptr(tpl->sb, visit.voi_id, static_cast<voi_stype>(visit.vs_stype),
                                 nullptr, &data, nullptr) == 0;
    return known ? tpl->mb->voi_meta[visit.voi_id].name : fmt::format("voi{}", visit.voi_id);
}

class Reading {
  public:
    explicit Reading(statsblob* blob) : blob_(blob) {
        stats_blob_visit(
            blob,
            [](sb_visit* visit, void* reading) {
                static_cast<Reading*>(reading)->take(*visit);
                return 0;
            },
            this);
        for (Variable& variable : variables_) {
            if (variable.count == 0) variable.min = variable.max = {};  // not the initial values
        }
    }

    Variables take() { return std::move(variables_); }

  private:
    void take(const sb_visit& visit) {
        if ((visit.flags & SB_IT_FIRST_VOISTAT) != 0) {
            variables_.push_back({.name = name_of(visit)});
        }
        Variable& variable = variables_.back();
        variable.errors += visit.vs_errs;
        const auto* const data = reinterpret_cast<const std::byte*>(visit.vs_data);
        switch (visit.vs_stype) {
            case VS_STYPE_SUM:
                variable.sum = number(data, visit.vs_dtype);
                break;
            case VS_STYPE_MAX:
                variable.max = number(data, visit.vs_dtype);
                break;
            case VS_STYPE_MIN:
                variable.min = number(data, visit.vs_dtype);
                break;
            case VS_STYPE_HIST:
                read_histogram(variable, visit);
                break;
            case VS_STYPE_TDGST:
                read_digest(variable, blob_, visit);
                break;
            default:
                break;  // the last value, kept for relative updates
        }
    }

    statsblob* blob_;
    Variables variables_;
};

}  // namespace

Result<Variables, std::string> read_blob(std::span<const std::byte> bytes) {
    std::vector<uint64_t> aligned((bytes.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    if (!bytes.empty()) std::memcpy(aligned.data(), bytes.data(), bytes.size());
    switch (stats_blob_validate(aligned.data(), bytes.size())) {
        case 0:
            return Reading(reinterpret_cast<statsblob*>(aligned.data())).take();
        case EFTYPE:
            return std::string("a blob of another machine or version of stats(3)");
        default:
            return std::string("not a blob of stats(3)");
    }
}

}  // namespace blkscope::stats_command
