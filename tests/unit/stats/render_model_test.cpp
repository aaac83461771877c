// The texts of blobs against a slow model: both formats, all flags, every type, all precisions. The
// model reads the bytes at the offsets of the layout, and writes each form by its rule.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "fixture.hpp"
#include "printed.hpp"
#include "rounds.hpp"

namespace blkscope::stats {

namespace {

constexpr const char* stat_names[] = {"VOISTATE", "SUM", "MAX", "MIN", "HIST", "TDGST"};
constexpr const char* type_names[] = {
    "VOISTATE", "INT_S32",  "INT_U32",  "INT_S64",      "INT_U64",     "INT_SLONG", "INT_ULONG",
    "Q_S32",    "Q_U32",    "Q_S64",    "Q_U64",        "CRHIST32",    "DRHIST32",  "DVHIST32",
    "CRHIST64", "DRHIST64", "DVHIST64", "TDGSTCLUST32", "TDGSTCLUST64"};

// A number of one of the ten numeric types.
struct Type {
    explicit Type(int dtype)
        : narrow(dtype == VSD_DTYPE_INT_S32 || dtype == VSD_DTYPE_INT_U32 ||
                 dtype == VSD_DTYPE_Q_S32 || dtype == VSD_DTYPE_Q_U32),
          is_signed(dtype == VSD_DTYPE_INT_S32 || dtype == VSD_DTYPE_INT_S64 ||
                    dtype == VSD_DTYPE_INT_SLONG || dtype == VSD_DTYPE_Q_S32 ||
                    dtype == VSD_DTYPE_Q_S64),
          is_q(dtype >= VSD_DTYPE_Q_S32 && dtype <= VSD_DTYPE_Q_U64) {}

    int width() const { return narrow ? 32 : 64; }
    uint64_t all() const { return narrow ? 0xffffffff : UINT64_MAX; }
    uint64_t sign() const { return is_signed ? uint64_t{1} << (width() - 1) : 0; }

    // All digits of a Q number's fraction are written: each bit of it is one digit.
    std::string text(uint64_t bits) const {
        if (is_q) return q_text(bits & all());
        if (!is_signed) return std::to_string(bits & all());
        return narrow ? std::to_string(static_cast<int32_t>(bits))
                      : std::to_string(static_cast<int64_t>(bits));
    }

    // The largest number of the precision that `bits` have.
    uint64_t largest(uint64_t bits) const {
        const uint64_t most = all() & ~sign();
        return is_q ? (most & ~uint64_t{7}) | (bits & 7) : most;
    }

    bool narrow;
    bool is_signed;
    bool is_q;

  private:
    std::string q_text(uint64_t bits) const {
        const auto control = static_cast<int>(bits & 7);
        const int wanted = ((control & 3) + 1) << ((control & 4) != 0 ? 4 : 1);
        const int fraction_bits = std::min(wanted, width() - 3 - (is_signed ? 1 : 0));
        const uint64_t magnitude = (bits & ~sign()) >> 3;
        std::string text = (bits & sign()) != 0 ? "-" : "";
        text += std::to_string(magnitude >> fraction_bits) + ".";
        __extension__ unsigned __int128 rest = magnitude & ((uint64_t{1} << fraction_bits) - 1);
        for (int i = 0; i < fraction_bits; ++i) {
            rest *= 10;
            text += static_cast<char>('0' + static_cast<int>(rest >> fraction_bits));
            rest &= (uint64_t{1} << fraction_bits) - 1;
        }
        return text;
    }
};

class RandomModel {
  public:
    RandomModel(const statsblob* blob, std::string tpl, const std::map<int, std::string>& vois,
                uint32_t flags)
        : bytes_(reinterpret_cast<const uint8_t*>(blob)),
          tpl_(std::move(tpl)),
          vois_(vois),
          dump_((flags & SB_TOSTR_OBJDUMP) != 0),
          meta_((flags & SB_TOSTR_META) != 0) {}

    std::string json() const {
        std::string text = "{";
        if (dump_) {
            text += print("\"abi\":%u,\"endian\":%u,\"maxsz\":%u,\"cursz\":%u,", bytes_[0],
                          bytes_[1], u16(4), u16(6));
            text +=
                print("\"created\":%jd,\"lastrst\":%jd,\"flags\":%u,", time(16), time(24), u16(2));
            text += print("\"stats_off\":%u,\"statsdata_off\":%u,", u16(12), u16(14));
        }
        text += "\"tplname\":" + (meta_ ? quoted(tpl_) : "null");
        text += print(",\"tplhash\":%u,\"vois\":{", get<uint32_t>(8));
        std::string between;
        for (size_t voi = 0; voi < voi_count(); ++voi) {
            const int id = get<int16_t>(voi_at(voi));
            if (id < 0 && !dump_) continue;
            text += between + (meta_ && !dump_ ? quoted(vois_.at(id)) : print("\"[%zu]\"", voi));
            text += ":{" + (dump_ ? print("\"id\":%d", id) : "");
            if (id >= 0) text += json_voi(voi, id);
            text += "}";
            between = ",";
        }
        return text + "}}";
    }

    std::string freeform() const {
        std::string text = print("struct statsblobv1@%p", static_cast<const void*>(bytes_));
        if (dump_) {
            text += print(", abi=%u, endian=%u, maxsz=%u, cursz=%u", bytes_[0], bytes_[1], u16(4),
                          u16(6));
            text += print(", created=%jd, lastrst=%jd, flags=0x%04x", time(16), time(24), u16(2));
            text += print(", stats_off=%u, statsdata_off=%u", u16(12), u16(14));
        }
        text += print(", tplhash=%u", get<uint32_t>(8));
        for (size_t voi = 0; voi < voi_count(); ++voi) {
            const int id = get<int16_t>(voi_at(voi));
            if (id < 0 && !dump_) continue;
            text += print("\n\tvois[%zu]: id=%d", voi, id);
            if (id >= 0) text += freeform_voi(voi, id);
        }
        return text;
    }

  private:
    template <class T>
    T get(size_t at) const {
        T value;
        std::memcpy(&value, bytes_ + at, sizeof value);
        return value;
    }
    unsigned u16(size_t at) const { return get<uint16_t>(at); }
    intmax_t time(size_t at) const { return get<int64_t>(at); }
    size_t voi_count() const { return (u16(12) - 32) / 8; }
    static size_t voi_at(size_t voi) { return 32 + 8 * voi; }
    static std::string quoted(const std::string& name) { return "\"" + name + "\""; }

    std::string json_voi(size_t voi, int id) const {
        const size_t at = voi_at(voi);
        const int dtype = bytes_[at + 2];
        const int highest = get<int8_t>(at + 3);
        std::string text;
        if (dump_) {
            text += ",\"name\":" + (meta_ ? quoted(vois_.at(id)) : "null");
            text += print(",\"flags\":%u,\"dtype\":\"%s\",\"voistatmaxid\":%d,\"stats_off\":%u,",
                          u16(at + 6), type_names[dtype], highest, u16(at + 4));
        }
        text += "\"stats\":{";
        std::string between;
        for (int n = 0; n <= highest; ++n) {
            const size_t stat = u16(at + 4) + 8 * static_cast<size_t>(n);
            const int stype = get<int8_t>(stat);
            if (!dump_ && stype <= VS_STYPE_VOISTATE) continue;
            text += between;
            text += meta_ && !dump_ ? print("\"%s\":", stat_names[n]) : print("\"[%d]\":", n);
            text += json_stat(stat, stype, dtype);
            between = ",";
        }
        return text + "}";
    }

    std::string json_stat(size_t at, int stype, int voi_dtype) const {
        if (stype < 0) return print("{\"stype\":%d}", stype);
        const int dtype = bytes_[at + 1];
        if (!dump_ && (bytes_[at + 7] & 1) == 0) return "null";
        std::string text = "{";
        if (dump_) text += print("\"stype\":\"%s\",", stat_names[stype]);
        text += print("\"errs\":%u,", bytes_[at + 6]);
        if (dump_) {
            text += print("\"flags\":%u,\"dtype\":\"%s\",\"data_off\":%u,\"voistatdata\":{",
                          bytes_[at + 7], type_names[dtype], u16(at + 2));
        }
        if (dtype > VSD_DTYPE_VOISTATE && dtype <= VSD_DTYPE_Q_U64) text += "\"val\":";
        return text + data(at, voi_dtype, true) + (dump_ ? "}}" : "}");
    }

    std::string freeform_voi(size_t voi, int id) const {
        const size_t at = voi_at(voi);
        const int dtype = bytes_[at + 2];
        const int highest = get<int8_t>(at + 3);
        std::string text = ", name=\"" + (meta_ ? vois_.at(id) : "") + "\"";
        if (dump_) {
            text += print(", flags=0x%04x, dtype=%s, voistatmaxid=%d, stats_off=%u", u16(at + 6),
                          type_names[dtype], highest, u16(at + 4));
        }
        for (int n = 0; n <= highest; ++n) {
            const size_t stat = u16(at + 4) + 8 * static_cast<size_t>(n);
            const int stype = get<int8_t>(stat);
            if (!dump_ && stype <= VS_STYPE_VOISTATE) continue;
            text += print("\n\t\tvois[%zu]stat[%d]: stype=", voi, n);
            text += stype < 0 ? "-1" : print("%s, errs=%u", stat_names[stype], bytes_[stat + 6]);
            if (stype < 0) continue;
            if (dump_) {
                text += print(", flags=0x%04x, dtype=%s, dsz=%u, data_off=%u", bytes_[stat + 7],
                              type_names[bytes_[stat + 1]], u16(stat + 4), u16(stat + 2));
            }
            text += "\n\t\t\tvoistatdata: " + data(stat, dtype, false);
        }
        return text;
    }

    std::string data(size_t stat, int voi_dtype, bool json) const {
        const int dtype = bytes_[stat + 1];
        const size_t at = u16(stat + 2);
        if (dtype >= VSD_DTYPE_TDGSTCLUST32) return digest(at, dtype, json);
        if (dtype >= VSD_DTYPE_CRHIST32)
            return histogram(at, u16(stat + 4), dtype, Type(voi_dtype), json);
        const Type type(dtype == VSD_DTYPE_VOISTATE ? voi_dtype : dtype);
        const std::string key = json ? "\"prev\":" : "prev=";
        return (dtype == VSD_DTYPE_VOISTATE ? key : "") + type.text(number(at, type));
    }

    uint64_t number(size_t at, const Type& type) const {
        return type.narrow ? get<uint32_t>(at) : get<uint64_t>(at);
    }

    // NOLINTNEXTLINE(readability-function-size): what a histogram is
    std::string histogram(size_t at, size_t size, int dtype, const Type& type, bool json) const {
        const bool wide = dtype >= VSD_DTYPE_CRHIST64;
        const int kind = (dtype - VSD_DTYPE_CRHIST32) % 3;  // bounds, ranges, values
        const size_t bucket = kind == 1 ? 24 : 16;
        const auto count = [&](size_t where) {
            return std::to_string(wide ? get<uint64_t>(where) : get<uint32_t>(where));
        };
        const size_t buckets = (size - 8) / bucket;
        std::string text =
            json ? print("\"nbkts\":%zu,\"oob\":", buckets) + count(at) + ",\"bkts\":["
                 : print("nbkts=%zu, oob=", buckets) + count(at);
        for (size_t i = 0; i < buckets; ++i) {
            const size_t where = at + 8 + i * bucket;
            const uint64_t lb = number(where, type);
            uint64_t ub = lb;
            if (kind == 1) ub = number(where + 8, type);
            if (kind == 0) ub = i + 1 < buckets ? number(where + bucket, type) : type.largest(lb);
            text += element(i, "bkt", json);
            text += (json ? "\"lb\":" : "lb=") + type.text(lb) + (json ? ",\"ub\":" : ",ub=") +
                    type.text(ub) + (json ? ",\"cnt\":" : ",cnt=") + count(where + bucket - 8) +
                    "}";
        }
        return text + (json ? "]" : "");
    }

    std::string element(size_t i, const char* word, bool json) const {
        std::string text = json ? (i == 0 ? "{" : ",{") : "\n\t\t\t\t";
        if (dump_) text += json ? print("\"%s\":%zu,", word, i) : print("%s[%zu].", word, i);
        return text + (json ? "" : "{");
    }

    std::string digest(size_t at, int dtype, bool json) const {
        const bool wide = dtype == VSD_DTYPE_TDGSTCLUST64;
        const size_t head = at + (wide ? 16 : 8);
        const size_t size = wide ? 24 : 16;
        const size_t nodes = head + (wide ? 16 : 12);
        const uint64_t samples = wide ? get<uint64_t>(at) : get<uint32_t>(at);
        const int max = get<int16_t>(head + 2);
        std::string text =
            print(json ? "\"smplcnt\":%ju,\"compcnt\":%u,\"maxctds\":%d,\"nctds\":%d,\"ctds\":["
                       : "smplcnt=%ju, compcnt=%u, maxctds=%d, nctds=%d",
                  static_cast<uintmax_t>(samples), get<uint32_t>(at + (wide ? 8 : 4)), max,
                  get<int16_t>(head));
        std::vector<int> order;
        if (dump_) {
            for (int i = 0; i < max; ++i) order.push_back(i);
        } else {
            ascend(nodes, size, get<int16_t>(head + 4), order);
        }
        const Type type(wide ? VSD_DTYPE_Q_S64 : VSD_DTYPE_Q_S32);
        for (size_t i = 0; i < order.size(); ++i) {
            const size_t node = nodes + size * static_cast<size_t>(order[i]);
            const uint64_t mu = wide ? get<uint64_t>(node + 8) : get<uint32_t>(node + 8);
            const int64_t count = wide ? get<int64_t>(node + 16) : get<int32_t>(node + 12);
            text += element(i, "ctd", json) + (json ? "\"mu\":" : "mu=") + type.text(mu) +
                    (json ? ",\"cnt\":" : ",cnt=") + std::to_string(count) + "}";
        }
        return text + (json ? "]" : "");
    }

    // A tree from its smallest element to its largest.
    void ascend(size_t nodes, size_t size, int node, std::vector<int>& order) const {
        if (node < 0) return;
        const size_t at = nodes + size * static_cast<size_t>(node);
        ascend(nodes, size, get<int16_t>(at + 2), order);
        order.push_back(node);
        ascend(nodes, size, get<int16_t>(at + 4), order);
    }

    const uint8_t* bytes_;
    std::string tpl_;
    const std::map<int, std::string>& vois_;
    bool dump_;
    bool meta_;
};

class StatsRenderModel : public testing::Test {
  protected:
    uint64_t below(uint64_t n) { return random_() % n; }

    void make_blob() {
        static int number = 0;  // a test may be repeated
        name_ = "text " + std::to_string(++number);
        vois_.clear();
        types_.clear();
        const int tpl = stats_tpl_alloc(name_.c_str(), 0);
        for (size_t n = 1 + below(3); n > 0; --n) {
            const auto id = static_cast<int>(below(5));
            if (vois_.count(id) != 0) continue;
            vois_[id] = "voi " + std::to_string(id);
            add_voi(tpl, id);
        }
        blob_ = blob_of(tpl);
    }

    void add_voi(int tpl, int id) {
        const auto dtype = static_cast<vsd_dtype>(VSD_DTYPE_INT_S32 + below(VSD_DTYPE_Q_U64));
        const auto precision = static_cast<uint32_t>(1 + below(64));
        auto numeric = stats_numeric_prec(precision);
        auto digest = stats_tdgst(below(2) == 0 ? VSD_DTYPE_TDGSTCLUST32 : VSD_DTYPE_TDGSTCLUST64,
                                  static_cast<uint32_t>(1 + below(9)), precision);
        const uint64_t one = Type(dtype).is_q ? below(8) : 0;  // of any precision
        const auto bound = [&](uint64_t n) { return Type(dtype).is_q ? n * 8 + one : n; };
        const stats_hist_bkt values[] = {DRBKT(bound(8), bound(8)), DRBKT(bound(32), bound(32))};
        const stats_hist_bkt ranges[] = {DRBKT(bound(8), bound(16)), DRBKT(bound(16), bound(99))};
        const auto form = static_cast<vsd_dtype>(VSD_DTYPE_CRHIST32 + below(6));
        const bool discrete = form == VSD_DTYPE_DVHIST32 || form == VSD_DTYPE_DVHIST64;
        auto buckets = discrete ? stats_hist_usr(form, values) : stats_hist_usr(form, ranges);
        std::vector<voistatspec> specs;
        for (const voi_stype stype : {VS_STYPE_SUM, VS_STYPE_MAX, VS_STYPE_MIN})
            if (below(2) == 0) specs.push_back(stats_vss_numeric(stype, &numeric));
        if (below(2) == 0) specs.push_back(stats_vss_hist(buckets));
        if (below(2) == 0 || specs.empty()) specs.push_back(stats_vss_tdgst(digest));
        ASSERT_EQ(
            add(tpl, id, dtype, specs, below(2) == 0 ? SB_VOI_RELUPDATE : 0, vois_[id].c_str()), 0);
        types_[id] = dtype;
    }

    // Some of the values fit no precision, and are counted as errors.
    void feed() {
        for (const auto& [id, dtype] : types_) {
            for (uint64_t n = below(30); n > 0; --n) {
                voistatdata value{};
                value.int64.u64 = random_() >> below(64);
                (void)stats_v1_voi_update(reinterpret_cast<statsblobv1*>(blob_.get()), id, dtype,
                                          &value, 0);
            }
        }
    }

    void check() {
        for (uint32_t flags = 0; flags <= (SB_TOSTR_OBJDUMP | SB_TOSTR_META); ++flags) {
            const RandomModel model(blob_.get(), name_, vois_, flags);
            ASSERT_EQ(text_of(blob_.get(), SB_STRFMT_JSON, flags), model.json());
            ASSERT_EQ(text_of(blob_.get(), SB_STRFMT_FREEFORM, flags), model.freeform());
        }
    }

    std::mt19937_64 random_{20261123};
    std::string name_;
    std::map<int, std::string> vois_;
    std::map<int, vsd_dtype> types_;
    BlobPtr blob_;
};

TEST_F(StatsRenderModel, EveryTextOfEveryBlobIsTheRules) {
    for (int round = 0; round < computed_rounds(500); ++round) {
        make_blob();
        check();
        feed();
        check();
        if (HasFatalFailure()) return;
    }
}

}  // namespace

}  // namespace blkscope::stats
