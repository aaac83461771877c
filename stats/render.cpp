// Blobs as text: for people (freeform) and for programs (JSON, one line without blanks).
#include <sys/sbuf.h>

#include <cinttypes>

#include "stats/digest.hpp"
#include "stats/histogram.hpp"
#include "stats/templates.hpp"
#include "stats/validate.hpp"
#include "stats/walk.hpp"

namespace blkscope::stats {
namespace {

void cat_number(sbuf* buf, q_num_ q) {
    char text[80];
    q_tostr_(q, -1, 10, text, sizeof text);
    sbuf_cat(buf, text);
}

template <class N>
void cat_number(sbuf* buf, N number) {
    using T = typename N::Stored;
    if constexpr (std::is_same_v<N, QNumber<T>>) {
        cat_number(buf, Q_NUM_(number.value));
    } else if constexpr (std::is_signed_v<T>) {
        sbuf_printf(buf, "%jd", static_cast<intmax_t>(number.value));
    } else {
        sbuf_printf(buf, "%ju", static_cast<uintmax_t>(number.value));
    }
}

// Control characters, quotes and backslashes as JSON has them; also in freeform, where a line
// should stay one.
void cat_escaped(sbuf* buf, const char* text) {
    for (; *text != '\0'; ++text) {
        const auto c = static_cast<unsigned char>(*text);
        if (c == '"' || c == '\\') {
            sbuf_printf(buf, "\\%c", c);
        } else if (c < 0x20) {
            sbuf_printf(buf, "\\u%04x", c);
        } else {
            sbuf_putc(buf, c);
        }
    }
}

// The caller's choices for a rendering.
struct Style {
    sbuf* buf;
    bool json;
    bool dump;
};

class HistogramText {
  public:
    HistogramText(const Style& style, const void* data, size_t size, int dtype)
        : style_(style),
          form_(histogram_form(dtype)),
          data_(static_cast<const std::byte*>(data)),
          count_(bucket_count(form_, size)) {}

    template <class N>
    void put() const {
        sbuf_printf(style_.buf,
                    style_.json ? "\"nbkts\":%zu,\"oob\":%" PRIu64 ",\"bkts\":["
                                : "nbkts=%zu, oob=%" PRIu64,
                    count_, counted(0));
        for (size_t i = 0; i < count_; ++i) put_bucket<N>(i);
        if (style_.json) sbuf_putc(style_.buf, ']');
    }

  private:
    uint64_t counted(size_t at) const {
        return form_.wide ? load<uint64_t>(data_ + at) : load<uint32_t>(data_ + at);
    }
    size_t bucket_at(size_t i) const { return histogram_head_size + i * form_.bucket_size; }

    // A continuous range ends where the next begins, the last one with its type.
    template <class N>
    N upper(size_t i) const {
        const std::byte* const bucket = data_ + bucket_at(i);
        if (form_.kind == Kind::values) return N::from(bucket);
        if (form_.kind == Kind::ranges) return N::from(bucket + 8);
        if (i + 1 < count_) return N::from(data_ + bucket_at(i + 1));
        return {limit<N>(LIM_MAX, N::from(bucket).value)};
    }

    template <class N>
    void put_bucket(size_t i) const {
        sbuf* const buf = style_.buf;
        if (style_.json) {
            sbuf_printf(buf, i == 0 ? "{" : ",{");
        } else {
            sbuf_cat(buf, "\n\t\t\t\t");
        }
        if (style_.dump) sbuf_printf(buf, style_.json ? "\"bkt\":%zu," : "bkt[%zu].", i);
        sbuf_cat(buf, style_.json ? "\"lb\":" : "{lb=");
        cat_number(buf, N::from(data_ + bucket_at(i)));
        sbuf_cat(buf, style_.json ? ",\"ub\":" : ",ub=");
        cat_number(buf, upper<N>(i));
        sbuf_printf(buf, style_.json ? ",\"cnt\":%" PRIu64 "}" : ",cnt=%" PRIu64 "}",
                    counted(bucket_at(i) + form_.count_at));
    }

    const Style& style_;
    HistogramForm form_;
    const std::byte* data_;
    size_t count_;
};

void put_centroid(const Style& style, const Centroid& centroid, size_t index, bool first) {
    sbuf* const buf = style.buf;
    if (style.json) {
        sbuf_cat(buf, first ? "{" : ",{");
    } else {
        sbuf_cat(buf, "\n\t\t\t\t");
    }
    if (style.dump) sbuf_printf(buf, style.json ? "\"ctd\":%zu," : "ctd[%zu].", index);
    sbuf_cat(buf, style.json ? "\"mu\":" : "{mu=");
    cat_number(buf, centroid.mu);
    sbuf_printf(buf, style.json ? ",\"cnt\":%" PRId64 "}" : ",cnt=%" PRId64 "}", centroid.count);
}

void put_digest(const Style& style, const Digest& digest) {
    sbuf_printf(style.buf,
                style.json ? "\"smplcnt\":%" PRIu64
                             ",\"compcnt\":%u,\"maxctds\":%zu,\"nctds\":%zu,\"ctds\":["
                           : "smplcnt=%" PRIu64 ", compcnt=%u, maxctds=%zu, nctds=%zu",
                digest.samples(), digest.compressions(), digest.centroids_max(),
                digest.centroids());
    if (style.dump) {
        for (size_t i = 0; i < digest.centroids_max(); ++i)
            put_centroid(style, digest.centroid(i), i, i == 0);
    } else {
        for (int i = digest.first(); i >= 0; i = digest.next(i))
            put_centroid(style, digest.centroid(static_cast<size_t>(i)), 0, i == digest.first());
    }
    if (style.json) sbuf_putc(style.buf, ']');
}

// Renders a number without a key: the caller of stats_voistatdata_tostr() writes its own. A size
// may be that of struct voistatdata_numeric, whatever the type of the number. EINVAL: too few bytes
// for the type, or not what the type says.
int put_data(const Style& style, const void* data, int voi_dtype, int dtype, size_t size) {
    if (is_digest(dtype)) {
        if (!is_digest_sound(data, size, dtype)) return EINVAL;
        put_digest(style, Digest(const_cast<void*>(data), dtype));
        return 0;
    }
    const bool histogram = is_histogram(dtype) && bucket_count(histogram_form(dtype), size) > 0;
    const bool state = dtype == VSD_DTYPE_VOISTATE && size >= sizeof(voistatdata_numeric);
    const bool number = is_numeric(dtype) && size >= vsd_dtype2size[dtype];
    if (!number && (!is_numeric(voi_dtype) || (!histogram && !state))) return EINVAL;
    with_numeric(number ? dtype : voi_dtype, [&](auto* type) {
        using N = Pointed<decltype(type)>;
        if (histogram) return HistogramText(style, data, size, dtype).put<N>();
        if (state) sbuf_cat(style.buf, style.json ? "\"prev\":" : "prev=");
        cat_number(style.buf, N::from(data));
    });
    return 0;
}

// The names in a blob's template, as long as that is not changed; none without META.
struct Names {
    const char* tpl = nullptr;
    const metablob* meta = nullptr;

    const char* voi(int id) const { return meta == nullptr ? nullptr : meta->voi_meta[id].name; }
};

void put_freeform_head(const Style& style, const Blob& blob) {
    sbuf_printf(style.buf, "struct statsblobv1@%p", static_cast<const void*>(&blob));
    if (style.dump) {
        sbuf_printf(style.buf,
                    ", abi=%u, endian=%u, maxsz=%u, cursz=%u, created=%jd, lastrst=%jd, "
                    "flags=0x%04x, stats_off=%u, statsdata_off=%u",
                    blob.abi, blob.endian, blob.maxsz, blob.cursz,
                    static_cast<intmax_t>(blob.created), static_cast<intmax_t>(blob.lastrst),
                    blob.flags, blob.stats_off, blob.statsdata_off);
    }
    sbuf_printf(style.buf, ", tplhash=%u", blob.tplhash);
}

void put_freeform_voi(const Style& style, const Names& names, size_t slot, const Voi& voi) {
    sbuf_printf(style.buf, "\n\tvois[%zu]: id=%d", slot, voi.id);
    if (voi.id < 0) return;
    sbuf_cat(style.buf, ", name=\"");
    const char* const name = names.voi(voi.id);
    cat_escaped(style.buf, name == nullptr ? "" : name);
    sbuf_putc(style.buf, '"');
    if (style.dump) {
        sbuf_printf(style.buf, ", flags=0x%04x, dtype=%s, voistatmaxid=%d, stats_off=%u", voi.flags,
                    vsd_dtype2name[voi.dtype], voi.voistatmaxid, voi.stats_off);
    }
}

void put_freeform_stat(const Style& style, Blob* blob, const Voi& voi, const VoiStat& vs) {
    if (vs.stype < 0) {
        sbuf_printf(style.buf, "%d", vs.stype);
        return;
    }
    sbuf_printf(style.buf, "%s, errs=%u", vs_stype2name[vs.stype], vs.errs);
    if (style.dump) {
        sbuf_printf(style.buf, ", flags=0x%04x, dtype=%s, dsz=%u, data_off=%u", vs.flags,
                    vsd_dtype2name[vs.dtype], vs.dsz, vs.data_off);
    }
    sbuf_cat(style.buf, "\n\t\t\tvoistatdata: ");
    put_data(style, data_of(blob, vs), voi.dtype, vs.dtype, vs.dsz);
}

void put_freeform(const Style& style, Blob* blob, const Names& names) {
    put_freeform_head(style, *blob);
    size_t last = SIZE_MAX;
    walk(blob, style.dump, [&](size_t slot, const Voi& voi, int stype, const VoiStat& vs) {
        if (slot != last) put_freeform_voi(style, names, slot, voi);
        last = slot;
        const bool shown = style.dump || vs.stype > VS_STYPE_VOISTATE;
        if (voi.id < 0 || !shown) return 0;
        sbuf_printf(style.buf, "\n\t\tvois[%zu]stat[%d]: stype=", slot, stype);
        put_freeform_stat(style, blob, voi, vs);
        return 0;
    });
}

// Opens and closes the objects of VOIs and statistics as they come.
class JsonText {
  public:
    JsonText(const Style& style, Blob* blob, const Names& names)
        : style_(style), blob_(blob), names_(names), buf_(style.buf) {}

    void put() {
        put_head();
        walk(blob_, style_.dump, [this](size_t slot, const Voi& voi, int stype, const VoiStat& vs) {
            if (!style_.dump && vs.stype <= VS_STYPE_VOISTATE) return 0;
            if (slot != last_) open_voi(slot, voi);
            if (voi.id >= 0) put_stat(voi, stype, vs);
            return 0;
        });
        close_voi();
        sbuf_cat(buf_, "}}");
    }

  private:
    void put_name(const char* name) {
        if (name == nullptr) {
            sbuf_cat(buf_, "null");
            return;
        }
        sbuf_putc(buf_, '"');
        cat_escaped(buf_, name);
        sbuf_putc(buf_, '"');
    }

    void put_head() {
        sbuf_putc(buf_, '{');
        if (style_.dump) {
            sbuf_printf(buf_,
                        "\"abi\":%u,\"endian\":%u,\"maxsz\":%u,\"cursz\":%u,\"created\":%jd,"
                        "\"lastrst\":%jd,\"flags\":%u,\"stats_off\":%u,\"statsdata_off\":%u,",
                        blob_->abi, blob_->endian, blob_->maxsz, blob_->cursz,
                        static_cast<intmax_t>(blob_->created),
                        static_cast<intmax_t>(blob_->lastrst), blob_->flags, blob_->stats_off,
                        blob_->statsdata_off);
        }
        sbuf_cat(buf_, "\"tplname\":");
        put_name(names_.tpl);
        sbuf_printf(buf_, ",\"tplhash\":%u,\"vois\":{", blob_->tplhash);
    }

    void close_voi() {
        if (last_ != SIZE_MAX) sbuf_cat(buf_, is_vacant_ ? "}" : "}}");
    }

    void open_voi(size_t slot, const Voi& voi) {
        close_voi();
        if (last_ != SIZE_MAX) sbuf_putc(buf_, ',');
        last_ = slot;
        is_vacant_ = voi.id < 0;
        has_stats_ = false;
        const char* const name = is_vacant_ ? nullptr : names_.voi(voi.id);
        if (name == nullptr || style_.dump) {
            sbuf_printf(buf_, "\"[%zu]\":{", slot);
        } else {
            put_name(name), sbuf_cat(buf_, ":{");
        }
        if (style_.dump) sbuf_printf(buf_, "\"id\":%d", voi.id);
        if (is_vacant_) return;
        if (style_.dump) {
            sbuf_cat(buf_, ",\"name\":");
            put_name(name);
            sbuf_printf(buf_,
                        ",\"flags\":%u,\"dtype\":\"%s\",\"voistatmaxid\":%d,\"stats_off\":%u,",
                        voi.flags, vsd_dtype2name[voi.dtype], voi.voistatmaxid, voi.stats_off);
        }
        sbuf_cat(buf_, "\"stats\":{");
    }

    void put_stat(const Voi& voi, int stype, const VoiStat& vs) {
        if (has_stats_) sbuf_putc(buf_, ',');
        has_stats_ = true;
        if (names_.meta != nullptr && !style_.dump) {
            sbuf_printf(buf_, "\"%s\":", vs_stype2name[stype]);
        } else {
            sbuf_printf(buf_, "\"[%d]\":", stype);
        }
        if (vs.stype < 0) {
            sbuf_printf(buf_, "{\"stype\":%d}", vs.stype);
            return;
        }
        if (!style_.dump && (vs.flags & vs_valid) == 0) {
            sbuf_cat(buf_, "null");
            return;
        }
        sbuf_putc(buf_, '{');
        if (style_.dump) sbuf_printf(buf_, "\"stype\":\"%s\",", vs_stype2name[vs.stype]);
        sbuf_printf(buf_, "\"errs\":%u,", vs.errs);
        if (style_.dump) {
            sbuf_printf(buf_, "\"flags\":%u,\"dtype\":\"%s\",\"data_off\":%u,\"voistatdata\":{",
                        vs.flags, vsd_dtype2name[vs.dtype], vs.data_off);
        }
        if (is_numeric(vs.dtype)) sbuf_cat(buf_, "\"val\":");
        put_data(style_, data_of(blob_, vs), voi.dtype, vs.dtype, vs.dsz);
        sbuf_cat(buf_, style_.dump ? "}}" : "}");
    }

    const Style& style_;
    Blob* blob_;
    const Names& names_;
    sbuf* buf_;
    size_t last_ = SIZE_MAX;
    bool is_vacant_ = false;
    bool has_stats_ = false;
};

void put_blob(const Style& style, Blob* blob, const Names& names) {
    if (style.json) {
        JsonText(style, blob, names).put();
    } else {
        put_freeform(style, blob, names);
    }
}

// A hash is not a name: what has it may be another template. The blob must not have more VOIs.
bool put_named_blob(const Style& style, Blob* blob) {
    bool fits = false;
    const bool found = with_template_of_hash(blob->tplhash, [&](const statsblob_tpl& tpl) {
        fits = voi_count(*reinterpret_cast<const Blob*>(tpl.sb)) >= voi_count(*blob);
        if (fits) put_blob(style, blob, {tpl.mb->tplname, tpl.mb});
    });
    return found && fits;
}

bool is_format(sb_str_fmt fmt) {
    return fmt == SB_STRFMT_FREEFORM || fmt == SB_STRFMT_JSON;
}

}  // namespace
}  // namespace blkscope::stats

using namespace blkscope::stats;

extern "C" int stats_v1_blob_tostr(statsblobv1* sb, sbuf* buf, sb_str_fmt fmt, uint32_t flags) {
    if (buf == nullptr || !is_format(fmt) || validate(sb) != 0) return EINVAL;
    const Style style{buf, fmt == SB_STRFMT_JSON, (flags & SB_TOSTR_OBJDUMP) != 0};
    if ((flags & SB_TOSTR_META) == 0) {
        put_blob(style, sb, {});
    } else if (!put_named_blob(style, sb)) {
        return EINVAL;
    }
    return sbuf_error(buf);
}

// NOLINTNEXTLINE(readability-function-size): the signature is FreeBSD's
extern "C" int stats_voistatdata_tostr(const voistatdata* vsd, vsd_dtype voi_dtype,
                                       vsd_dtype vsd_dtype, size_t vsd_sz, sb_str_fmt fmt,
                                       sbuf* buf, int objdump) {
    if (vsd == nullptr || buf == nullptr || !is_format(fmt)) return EINVAL;
    const Style style{buf, fmt == SB_STRFMT_JSON, objdump != 0};
    const int error = put_data(style, vsd, voi_dtype, vsd_dtype, vsd_sz);
    return error != 0 ? error : sbuf_error(buf);
}
