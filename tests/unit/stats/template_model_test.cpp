// Templates against a slow model of FreeBSD's: the same bytes and the same hash, however they are
// put together. The model builds a template anew from the list of its VOIs.
#include <algorithm>
#include <cstring>
#include <random>

#include "fixture.hpp"
#include "rounds.hpp"
#include "stats/layout.hpp"

namespace blkscope::stats {

namespace {

using Bytes = std::vector<uint8_t>;

template <class T>
void put(Bytes& bytes, T value) {
    const auto* const from = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
}

struct ModelStat {
    int stype;
    int dtype;
    Bytes data;
};

struct ModelVoi {
    int16_t id;
    std::string name;
    int dtype;
    bool relative;
    std::vector<ModelStat> stats;  // in the order of the specifications
};

uint32_t hashed(uint32_t hash, const void* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) hash = hash * 33 + static_cast<const uint8_t*>(bytes)[i];
    return hash;
}

// The bytes of a template whose VOIs were added in this order.
Bytes bytes_of(const std::vector<ModelVoi>& vois) {
    int16_t last = -1;
    for (const ModelVoi& voi : vois) last = std::max(last, voi.id);
    Bytes table;
    Bytes groups;
    Bytes data;
    const auto stats_off = static_cast<uint16_t>(32 + 8 * (last + 1));
    size_t slots = 0;
    const auto slots_of = [](const ModelVoi& voi) {
        int highest = 0;
        for (const ModelStat& stat : voi.stats) highest = std::max(highest, stat.stype);
        return highest + 1;
    };
    for (const ModelVoi& voi : vois) slots += static_cast<size_t>(slots_of(voi));
    const size_t data_off = stats_off + 8 * slots;
    std::vector<uint16_t> group_at(static_cast<size_t>(last) + 1);
    for (size_t n = vois.size(); n-- > 0;) {  // the last VOI is the first in groups and data
        const ModelVoi& voi = vois[n];
        group_at[static_cast<size_t>(voi.id)] = static_cast<uint16_t>(stats_off + groups.size());
        std::vector<VoiStat> group(static_cast<size_t>(slots_of(voi)), vacant_voistat);
        const auto keep = [&](int stype, int dtype, const Bytes& bytes) {
            group[static_cast<size_t>(stype)] = {static_cast<int8_t>(stype),
                                                 static_cast<uint8_t>(dtype),
                                                 static_cast<uint16_t>(data_off + data.size()),
                                                 static_cast<uint16_t>(bytes.size()),
                                                 0,
                                                 0};
            data.insert(data.end(), bytes.begin(), bytes.end());
        };
        if (voi.relative) keep(0, 0, Bytes(8));
        for (const ModelStat& stat : voi.stats) keep(stat.stype, stat.dtype, stat.data);
        for (const VoiStat& slot : group) put(groups, slot);
    }
    for (int16_t id = 0; id <= last; ++id) {
        const auto at = std::find_if(vois.begin(), vois.end(),
                                     [&](const ModelVoi& voi) { return voi.id == id; });
        if (at == vois.end()) {
            put(table, vacant_voi);
            continue;
        }
        put(table,
            Voi{id, static_cast<uint8_t>(at->dtype), static_cast<int8_t>(slots_of(*at) - 1),
                group_at[static_cast<size_t>(id)], static_cast<uint16_t>(at->relative ? 1 : 0)});
    }
    Bytes blob;
    const auto size = static_cast<uint16_t>(data_off + data.size());
    put(blob, Blob{STATS_ABI_V1, SB_LE, 0, size, size, 0, stats_off,
                   static_cast<uint16_t>(data_off), 0, 0});
    for (const Bytes* part : {&table, &groups, &data})
        blob.insert(blob.end(), part->begin(), part->end());
    return blob;
}

uint32_t hash_of(const std::string& name, std::vector<ModelVoi> vois) {
    const Bytes blob = bytes_of(vois);
    std::sort(vois.begin(), vois.end(),
              [](const ModelVoi& a, const ModelVoi& b) { return a.id < b.id; });
    uint32_t hash = hashed(0, name.data(), name.size());
    for (const ModelVoi& voi : vois) hash = hashed(hash, voi.name.data(), voi.name.size());
    return hashed(hash, blob.data(), blob.size());
}

// A number as the original has it in 64 bits, and its arithmetic by type.
bool is_narrow(int dtype) {
    return dtype == VSD_DTYPE_INT_S32 || dtype == VSD_DTYPE_INT_U32 || dtype == VSD_DTYPE_Q_S32 ||
           dtype == VSD_DTYPE_Q_U32;
}
bool is_signed(int dtype) {
    return dtype == VSD_DTYPE_INT_S32 || dtype == VSD_DTYPE_INT_S64 ||
           dtype == VSD_DTYPE_INT_SLONG || dtype == VSD_DTYPE_Q_S32 || dtype == VSD_DTYPE_Q_S64;
}
bool is_q(int dtype) {
    return dtype >= VSD_DTYPE_Q_S32;
}

int fraction_bits(int control) {
    return ((control & 3) + 1) << ((control & 4) != 0 ? 4 : 1);
}

// The value in units: whole numbers, or the last bit of a Q number.
int64_t value_of(uint64_t bits, int dtype) {
    const int width = is_narrow(dtype) ? 32 : 64;
    if (width == 32) bits &= 0xffffffff;
    const uint64_t sign = is_signed(dtype) ? uint64_t{1} << (width - 1) : 0;
    if (is_q(dtype)) {
        const auto magnitude = static_cast<int64_t>((bits & ~sign) >> 3);
        return (bits & sign) != 0 ? -magnitude : magnitude;
    }
    if (width == 32 && (bits & sign) != 0) bits |= 0xffffffff00000000;
    return static_cast<int64_t>(bits);
}

uint64_t bits_of(int64_t value, int dtype, int control) {
    const int width = is_narrow(dtype) ? 32 : 64;
    if (!is_q(dtype))
        return width == 32 ? static_cast<uint32_t>(value) : static_cast<uint64_t>(value);
    const uint64_t sign = value < 0 ? uint64_t{1} << (width - 1) : 0;
    return static_cast<uint64_t>(value < 0 ? -value : value) << 3 | static_cast<uint64_t>(control) |
           sign;
}

// A sum changes the half that is the number, and no more.
uint64_t plus(uint64_t bits, int64_t more, int dtype) {
    const auto control = static_cast<int>(bits & 7);
    const int64_t units = is_q(dtype) ? more << fraction_bits(control) : more;
    const uint64_t sum = bits_of(value_of(bits, dtype) + units, dtype, control);
    return is_narrow(dtype) ? (bits & 0xffffffff00000000) | sum : sum;
}

uint64_t limit_of(bool max, int dtype) {
    const int width = is_narrow(dtype) ? 32 : 64;
    const uint64_t all = width == 32 ? 0xffffffff : UINT64_MAX;
    if (is_q(dtype)) {
        const uint64_t most = all >> (is_signed(dtype) ? 4 : 3);
        return max ? most : is_signed(dtype) ? (0 - most) & all : 0;
    }
    if (!is_signed(dtype)) return max ? all : 0;
    return max ? all >> 1 : (all >> 1) + 1;
}

uint64_t with_control(uint64_t bits, int dtype, int control) {
    return is_q(dtype) ? (bits & ~uint64_t{7}) | static_cast<uint64_t>(control) : bits;
}

struct Scheme {
    vss_hist_hlpr_info::hist_bkt_alloc kind;
    uint64_t a;  // the step, or the base
    uint64_t b;  // the first exponent, or the steps of a power
};

int64_t power(int64_t base, uint64_t exponent) {
    int64_t result = 1;
    while (exponent-- > 0) result *= base;
    return result;
}

int64_t step(const Scheme& scheme, uint64_t n, uint64_t lb, int dtype) {
    const auto base = static_cast<int64_t>(scheme.a);
    if (scheme.kind == vss_hist_hlpr_info::BKT_LIN) return base;
    if (scheme.kind == vss_hist_hlpr_info::BKT_EXP) return power(base, scheme.b + n);
    int64_t whole = value_of(lb, dtype);
    if (is_q(dtype)) whole /= int64_t{1} << fraction_bits(static_cast<int>(lb & 7));
    uint64_t exponent = 1;
    while (power(base, exponent) <= whole) ++exponent;
    return std::max<int64_t>(1, power(base, exponent) / static_cast<int64_t>(scheme.b));
}

Bytes histogram(const Scheme& scheme, vsd_dtype hist, int dtype, uint64_t lb, uint64_t ub,
                uint32_t flags) {
    std::vector<std::pair<uint64_t, uint64_t>> buckets;
    uint64_t end = lb;
    do {
        const uint64_t begin = end;
        end = plus(begin, step(scheme, buckets.size(), begin, dtype), dtype);
        buckets.emplace_back(begin, end);
    } while (value_of(end, dtype) <= value_of(ub, dtype));
    const auto control = static_cast<int>(lb & 7);
    if ((flags & VSD_HIST_LBOUND_INF) != 0)
        buckets.insert(buckets.begin(), {with_control(limit_of(false, dtype), dtype, control), lb});
    if ((flags & VSD_HIST_UBOUND_INF) != 0)
        buckets.emplace_back(end, with_control(limit_of(true, dtype), dtype, control));
    Bytes data(8);
    for (const auto& [from, to] : buckets) {
        put(data, from);
        if (hist == VSD_DTYPE_DRHIST32 || hist == VSD_DTYPE_DRHIST64) put(data, to);
        put(data, uint64_t{0});
    }
    return data;
}

Bytes digest(bool wide, int centroids, int control) {
    Bytes data(wide ? 16 : 8);
    for (const int number : {0, centroids, -1, 0, -1, -1}) put(data, static_cast<int16_t>(number));
    if (wide) put(data, uint32_t{0});
    for (int i = 0; i < centroids; ++i) {
        put(data, uint32_t{0});  // the parent and the left link
        put(data, static_cast<int16_t>(i + 1 < centroids ? i + 1 : -1));
        put(data, static_cast<int16_t>(0x00ff));  // the colour and padding
        if (wide) {
            put(data, static_cast<int64_t>(control));
            put(data, int64_t{0});
        } else {
            put(data, static_cast<int32_t>(control));
            put(data, int32_t{0});
        }
    }
    return data;
}

// A template and its model, which grow by the same VOIs.
class StatsTemplateModel : public testing::Test {
  protected:
    uint64_t below(uint64_t n) { return random_() % n; }

    void start() {
        name_ = "model " + std::to_string(++number_);
        tpl_ = stats_tpl_alloc(name_.c_str(), 0);
        model_.clear();
    }

    void add_voi() {
        const auto id = static_cast<int16_t>(below(12));
        const bool known = std::any_of(model_.begin(), model_.end(),
                                       [&](const ModelVoi& voi) { return voi.id == id; });
        if (known) return;
        ModelVoi voi{id,
                     "v" + std::to_string(below(1000)),
                     static_cast<int>(1 + below(VSD_DTYPE_Q_U64)),
                     below(2) == 0,
                     {}};
        infos_.clear();
        std::vector<voistatspec> specs;
        std::vector<int> kinds{VS_STYPE_SUM, VS_STYPE_MAX, VS_STYPE_MIN, VS_STYPE_HIST,
                               VS_STYPE_TDGST};
        std::shuffle(kinds.begin(), kinds.end(), random_);
        kinds.resize(1 + below(kinds.size()));
        for (const int kind : kinds) specs.push_back(add_stat(voi, kind));
        ASSERT_EQ(add(tpl_, id, static_cast<vsd_dtype>(voi.dtype), specs,
                      voi.relative ? SB_VOI_RELUPDATE : 0, voi.name.c_str()),
                  0)
            << voi.dtype;
        model_.push_back(voi);
    }

    voistatspec add_stat(ModelVoi& voi, int kind) {
        if (kind == VS_STYPE_HIST) return add_histogram(voi);
        if (kind == VS_STYPE_TDGST) return add_digest(voi);
        const auto control = static_cast<int>(below(8));
        auto& info = keep(stats_numeric_prec(static_cast<uint32_t>(fraction_bits(control))));
        uint64_t value = 0;
        if (kind != VS_STYPE_SUM) value = limit_of(kind == VS_STYPE_MIN, voi.dtype);
        Bytes data;
        put(data, with_control(value, voi.dtype, control));
        data.resize(is_narrow(voi.dtype) ? 4 : 8);
        voi.stats.push_back({kind, voi.dtype, data});
        return stats_vss_numeric(static_cast<voi_stype>(kind), &info);
    }

    voistatspec add_digest(ModelVoi& voi) {
        const bool wide = below(2) == 0;
        const auto centroids = static_cast<int>(1 + below(60));
        const auto control = static_cast<int>(below(8));
        const auto dtype = wide ? VSD_DTYPE_TDGSTCLUST64 : VSD_DTYPE_TDGSTCLUST32;
        voi.stats.push_back({VS_STYPE_TDGST, dtype, digest(wide, centroids, control)});
        return stats_vss_tdgst(keep(stats_tdgst(dtype, static_cast<uint32_t>(centroids),
                                                static_cast<uint32_t>(fraction_bits(control)))));
    }

    // Signed types get negative bounds, too. A C program passes one through uint64_t, which extends
    // the sign.
    uint64_t bound(int dtype, int control, int64_t from, uint64_t range) {
        const auto units = static_cast<int64_t>(below(range)) + from;
        if (!is_q(dtype)) return static_cast<uint64_t>(units);
        const bool extends = is_narrow(dtype) && units < 0 && below(2) == 0;
        return bits_of(units, dtype, control) | (extends ? 0xffffffff00000000 : 0);
    }

    voistatspec add_histogram(ModelVoi& voi) {
        constexpr vsd_dtype forms[] = {VSD_DTYPE_CRHIST32, VSD_DTYPE_DRHIST32, VSD_DTYPE_CRHIST64,
                                       VSD_DTYPE_DRHIST64};
        const vsd_dtype form = forms[below(std::size(forms))];
        const auto control = static_cast<int>(below(4));
        const int64_t one = is_q(voi.dtype) ? int64_t{1} << fraction_bits(control) : 1;
        const uint64_t lb = bound(voi.dtype, control, is_signed(voi.dtype) ? -100 * one : 0,
                                  static_cast<uint64_t>(100 * one));
        const uint64_t ub = bound(voi.dtype, control, 0, static_cast<uint64_t>(200 * one));
        const auto flags = static_cast<uint32_t>(below(4));
        Scheme scheme{vss_hist_hlpr_info::BKT_LIN, 1 + below(20), 0};
        auto info = stats_hist_lin(form, lb, ub, scheme.a, flags);
        if (below(3) == 0) {
            scheme = {vss_hist_hlpr_info::BKT_EXP, 1 + below(4), below(4)};
            info = stats_hist_exp(form, lb, ub, scheme.a, scheme.b, flags);
        } else if (below(2) == 0) {
            scheme = {vss_hist_hlpr_info::BKT_LINEXP, 2 + below(9), 1 + below(8)};
            info = stats_hist_linexp(form, lb, ub, scheme.b, scheme.a, flags);
        }
        voi.stats.push_back(
            {VS_STYPE_HIST, form, histogram(scheme, form, voi.dtype, lb, ub, flags)});
        return stats_vss_hist(keep(info));
    }

    vss_hlpr_info& keep(const vss_hlpr_info& info) {
        infos_.push_back(std::make_unique<vss_hlpr_info>(info));
        return *infos_.back();
    }

    void check() {
        statsblob_tpl* found = nullptr;
        ASSERT_EQ(stats_tpl_fetch(tpl_, &found), 0);
        const auto* const bytes = reinterpret_cast<const uint8_t*>(found->sb);
        ASSERT_EQ(Bytes(bytes, bytes + found->sb->cursz), bytes_of(model_)) << name_;
        ASSERT_EQ(found->mb->tplhash, hash_of(name_, model_)) << name_;
    }

    std::mt19937_64 random_{20261123};
    int number_ = 0;
    int tpl_ = -1;
    std::string name_;
    std::vector<ModelVoi> model_;
    std::vector<std::unique_ptr<vss_hlpr_info>> infos_;
};

TEST_F(StatsTemplateModel, EveryTemplateHasFreeBsdsBytesAndHash) {
    for (int round = 0; round < computed_rounds(1000); ++round) {
        start();
        for (size_t vois = 1 + below(4); vois > 0; --vois) {
            add_voi();
            check();
            if (HasFatalFailure()) return;
        }
    }
}

}  // namespace

}  // namespace blkscope::stats
