#include "stats/templates.hpp"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <span>
#include <vector>

#include "stats/digest.hpp"
#include "stats/histogram.hpp"

namespace blkscope::stats {
namespace {

struct Freed {
    void operator()(void* memory) const { std::free(memory); }
};

// A template's parts are C's, since stats_tpl_fetch() shows them: every pointer is malloc's.
class Template {
  public:
    explicit Template(const char* name) {
        public_.mb = &meta_;
        name_.reset(strdup(name));
        auto* const blob = static_cast<Blob*>(std::calloc(1, sizeof(Blob)));
        blob_.reset(blob);
        if (name_ == nullptr || blob == nullptr) throw std::bad_alloc();
        blob->abi = STATS_ABI_V1;
        blob->endian = host_endian;
        blob->maxsz = blob->cursz = blob->stats_off = blob->statsdata_off = sizeof(Blob);
        publish();
    }

    const statsblob_tpl& parts() const { return public_; }
    statsblob_tpl* parts() { return &public_; }
    const Blob& blob() const { return *blob_; }

    /// All that is new is made before anything is changed.
    int add(int32_t id, const char* voi_name, int dtype, std::span<const voistatspec> specs,
            bool relative);

  private:
    void publish();
    void name_voi(size_t id, std::unique_ptr<char, Freed> name, size_t count);

    std::unique_ptr<char, Freed> name_;
    std::unique_ptr<Blob, Freed> blob_;
    std::vector<std::unique_ptr<char, Freed>> voi_names_;
    std::vector<::voi_meta> voi_meta_;
    metablob meta_{};
    statsblob_tpl public_{};
};

void Template::publish() {
    const auto add = [this](const void* bytes, size_t size) {
        for (size_t i = 0; i < size; ++i)
            meta_.tplhash = meta_.tplhash * 33 + static_cast<const uint8_t*>(bytes)[i];
    };
    meta_.tplname = name_.get();
    meta_.voi_meta = voi_meta_.data();
    meta_.tplhash = 0;
    add(name_.get(), std::strlen(name_.get()));
    for (const ::voi_meta& voi : voi_meta_)
        if (voi.name != nullptr) add(voi.name, std::strlen(voi.name));
    add(blob_.get(), blob_->cursz);
    public_.sb = reinterpret_cast<statsblob*>(at<std::byte>(blob_.get(), 0));
}

// The bytes that a VOI adds to a blob.
struct Growth {
    size_t vois;
    size_t slots;
    size_t data;

    size_t all() const { return vois + slots + data; }
};

int highest_stype(std::span<const voistatspec> specs) {
    int highest = 0;
    for (const voistatspec& spec : specs) highest = std::max<int>(highest, spec.stype);
    return highest;
}

Growth growth(const Blob& blob, int32_t id, std::span<const voistatspec> specs, bool relative) {
    const size_t count = std::max(voi_count(blob), static_cast<size_t>(id) + 1);
    size_t data = relative ? sizeof(voistatdata_numeric) : 0;
    for (const voistatspec& spec : specs) data += spec.vsdsz;
    return {(count - voi_count(blob)) * sizeof(Voi),
            (static_cast<size_t>(highest_stype(specs)) + 1) * sizeof(VoiStat), data};
}

// The old blob's parts at their new places, the room between them vacant.
void spread(const Blob& old, const Growth& more, Blob* blob) {
    const auto move = [&](size_t from, size_t to, size_t size) {
        std::memcpy(at<std::byte>(blob, to), at<std::byte>(&old, from), size);
    };
    move(0, 0, old.stats_off);
    for (size_t i = 0; i < more.vois / sizeof(Voi); ++i)
        store(at<Voi>(blob, old.stats_off + i * sizeof(Voi)), vacant_voi);
    const size_t slots_at = old.stats_off + more.vois;
    for (size_t i = 0; i < more.slots / sizeof(VoiStat); ++i)
        store(at<VoiStat>(blob, slots_at + i * sizeof(VoiStat)), vacant_voistat);
    move(old.stats_off, slots_at + more.slots, size_t{old.statsdata_off} - old.stats_off);
    move(old.statsdata_off, old.statsdata_off + more.all(), size_t{old.cursz} - old.statsdata_off);
    blob->stats_off = static_cast<uint16_t>(slots_at);
    blob->statsdata_off = static_cast<uint16_t>(old.statsdata_off + more.vois + more.slots);
    blob->maxsz = blob->cursz = static_cast<uint16_t>(old.cursz + more.all());
}

// Offsets of the VOIs that were there before.
void shift(const Blob& old, const Growth& more, Blob* blob) {
    for (size_t i = 0; i < voi_count(old); ++i) {
        Voi& voi = vois(blob)[i];
        if (voi.id < 0) continue;
        voi.stats_off = static_cast<uint16_t>(voi.stats_off + more.vois + more.slots);
        for (int stype = 0; stype <= voi.voistatmaxid; ++stype) {
            VoiStat& vs = voistats(blob, voi)[stype];
            if (vs.stype >= 0) vs.data_off = static_cast<uint16_t>(vs.data_off + more.all());
        }
    }
}

// The new VOI, its slots and data first among the others'.
void place(Blob* blob, int32_t id, int dtype, std::span<const voistatspec> specs, bool relative) {
    Voi& voi = vois(blob)[id];
    voi = {static_cast<int16_t>(id), static_cast<uint8_t>(dtype),
           static_cast<int8_t>(highest_stype(specs)), blob->stats_off,
           relative ? voi_reg_state : uint16_t{0}};
    VoiStat* const group = voistats(blob, voi);
    uint16_t data_off = blob->statsdata_off;
    const auto put = [&](int stype, int vs_dtype, size_t size, uint32_t flags) {
        group[stype] = {static_cast<int8_t>(stype),
                        static_cast<uint8_t>(vs_dtype),
                        data_off,
                        static_cast<uint16_t>(size),
                        0,
                        static_cast<uint8_t>(flags)};
        data_off = static_cast<uint16_t>(data_off + size);
        return data_of(blob, group[stype]);
    };
    if (relative) {
        constexpr size_t size = sizeof(voistatdata_numeric);
        std::memset(put(VS_STYPE_VOISTATE, VSD_DTYPE_VOISTATE, size, 0), 0, size);
    }
    for (const voistatspec& spec : specs)
        std::memcpy(put(spec.stype, spec.vs_dtype, spec.vsdsz, spec.flags), spec.iv, spec.vsdsz);
}

bool is_spec_sound(const voistatspec& spec, int voi_dtype) {
    if (spec.iv == nullptr || spec.vsdsz == 0 || spec.vsdsz > blob_size_max) return false;
    switch (spec.stype) {
        case VS_STYPE_SUM:
        case VS_STYPE_MAX:
        case VS_STYPE_MIN:
            return spec.vs_dtype == voi_dtype && spec.vsdsz == vsd_dtype2size[voi_dtype];
        case VS_STYPE_HIST:
            return is_histogram(spec.vs_dtype) &&
                   bucket_count(histogram_form(spec.vs_dtype), spec.vsdsz) > 0 &&
                   is_in_order(spec.iv, spec.vsdsz, spec.vs_dtype, voi_dtype);
        case VS_STYPE_TDGST:
            return is_digest(spec.vs_dtype) && is_digest_sound(spec.iv, spec.vsdsz, spec.vs_dtype);
        default:
            return false;
    }
}

bool are_specs_sound(std::span<const voistatspec> specs, int voi_dtype) {
    unsigned seen = 0;
    for (const voistatspec& spec : specs) {
        if (!is_spec_sound(spec, voi_dtype)) return false;
        if ((seen & 1u << spec.stype) != 0) return false;  // a slot has room for one
        seen |= 1u << spec.stype;
    }
    return true;
}

int Template::add(int32_t id, const char* voi_name, int dtype, std::span<const voistatspec> specs,
                  bool relative) {
    if (find_voi(&*blob_, id) != nullptr) return EOPNOTSUPP;
    if (id > INT16_MAX) return EFBIG;
    const Growth more = growth(*blob_, id, specs, relative);
    if (blob_->cursz + more.all() > blob_size_max) return EFBIG;
    std::unique_ptr<Blob, Freed> grown(
        static_cast<Blob*>(std::calloc(1, blob_->cursz + more.all())));
    std::unique_ptr<char, Freed> name(strdup(voi_name));
    if (grown == nullptr || name == nullptr) return ENOMEM;
    spread(*blob_, more, grown.get());
    shift(*blob_, more, grown.get());
    place(grown.get(), id, dtype, specs, relative);
    name_voi(static_cast<size_t>(id), std::move(name), voi_count(*grown));
    blob_ = std::move(grown);
    publish();
    return 0;
}

void Template::name_voi(size_t id, std::unique_ptr<char, Freed> name, size_t count) {
    voi_names_.reserve(count);
    voi_meta_.reserve(count);  // nothing throws from here on
    voi_names_.resize(count);
    voi_meta_.resize(count);
    voi_names_[id] = std::move(name);
    voi_meta_[id] = {voi_names_[id].get(), nullptr};
}

class Templates {
  public:
    int add(const char* name) {
        const std::unique_lock lock(mutex_);
        for (const auto& tpl : all_)
            if (std::strcmp(tpl->parts()->mb->tplname, name) == 0) return -EEXIST;
        if (all_.size() > INT16_MAX) return -ENOMEM;
        all_.push_back(std::make_unique<Template>(name));
        return static_cast<int>(all_.size()) - 1;
    }

    template <class F>
    bool change(int64_t id, F f) {
        const std::unique_lock lock(mutex_);
        if (!has(id)) return false;
        f(*all_[static_cast<size_t>(id)]);
        return true;
    }

    template <class F>
    bool look(int64_t id, F f) {
        const std::shared_lock lock(mutex_);
        if (!has(id)) return false;
        f(*all_[static_cast<size_t>(id)]);
        return true;
    }

    /// Newest first; the number of the first for which f is true, or -1.
    template <class F>
    int find(F f) {
        const std::shared_lock lock(mutex_);
        for (size_t i = all_.size(); i-- > 0;)
            if (f(*all_[i])) return static_cast<int>(i);
        return -1;
    }

    void for_each(const std::function<void(const statsblob_tpl&)>& f) {
        const std::shared_lock lock(mutex_);
        for (const auto& tpl : all_) f(*tpl->parts());
    }

  private:
    bool has(int64_t id) const { return id >= 0 && id < static_cast<int64_t>(all_.size()); }

    std::shared_mutex mutex_;
    std::vector<std::unique_ptr<Template>> all_;
};

// Never destroyed: programs render blobs from their own destructors.
Templates& templates() {
    static auto* const all = new Templates;
    return *all;
}

}  // namespace

bool with_template(int64_t id, const std::function<void(const statsblob_tpl&)>& f) {
    return templates().look(id, [&](Template& tpl) { f(*tpl.parts()); });
}

bool with_template_of_hash(uint32_t hash, const std::function<void(const statsblob_tpl&)>& f) {
    return templates().find([&](Template& tpl) {
        if (tpl.parts()->mb->tplhash != hash) return false;
        f(*tpl.parts());
        return true;
    }) >= 0;
}

void for_each_template(const std::function<void(const statsblob_tpl&)>& f) {
    templates().for_each(f);
}

}  // namespace blkscope::stats

using namespace blkscope::stats;

extern "C" int stats_v1_tpl_alloc(const char* name, uint32_t) {
    if (name == nullptr) return -ENOMEM;  // the original's answer
    if (std::strlen(name) > TPL_MAX_NAME_LEN) return -EINVAL;
    try {
        return templates().add(name);
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
}

// NOLINTNEXTLINE(readability-function-size): the signature is FreeBSD's
extern "C" int stats_v1_tpl_add_voistats(uint32_t tpl_id, int32_t voi_id, const char* voi_name,
                                         vsd_dtype voi_dtype, uint32_t nvss, voistatspec* vss,
                                         uint32_t flags) {
    if (voi_id < 0 || voi_name == nullptr || !is_numeric(voi_dtype) || nvss == 0 || vss == nullptr)
        return EINVAL;
    const std::span<const voistatspec> specs(vss, nvss);
    int error = EINVAL;
    try {
        if (!are_specs_sound(specs, voi_dtype)) return EINVAL;
        templates().change(tpl_id, [&](Template& tpl) {
            error = tpl.add(voi_id, voi_name, voi_dtype, specs, (flags & SB_VOI_RELUPDATE) != 0);
        });
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
    return error;
}

extern "C" int stats_tpl_fetch_allocid(const char* name, uint32_t hash) {
    const int id = templates().find([&](Template& tpl) {
        const metablob& meta = *tpl.parts()->mb;
        if (name != nullptr && std::strcmp(meta.tplname, name) != 0) return false;
        return (name != nullptr && hash == 0) || meta.tplhash == hash;
    });
    return id >= 0 ? id : -ESRCH;
}

extern "C" int stats_tpl_fetch(int tpl_id, statsblob_tpl** tpl) {
    return templates().look(tpl_id, [&](Template& found) { *tpl = found.parts(); }) ? 0 : ENOENT;
}

extern "C" int stats_tpl_id2name(uint32_t tpl_id, char* buf, size_t len) {
    int error = ENOENT;
    with_template(tpl_id, [&](const statsblob_tpl& tpl) {
        const size_t length = std::strlen(tpl.mb->tplname);
        error = buf == nullptr || len <= length ? EOVERFLOW : 0;
        if (error == 0) std::memcpy(buf, tpl.mb->tplname, length + 1);
    });
    return error;
}
