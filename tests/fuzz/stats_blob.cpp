// A blob from elsewhere. A refused blob is not touched again. An accepted blob must bear every use,
// and be valid after each use. The first byte chooses the blob's place in memory. Blobs may be
// misaligned for stats_blob_validate(), and are aligned for all other functions.
#include <blkscope/stats.h>
#include <sys/sbuf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "require.hpp"

namespace {

// Memory of exactly `size` bytes: a byte too far is seen.
class Copy {
  public:
    Copy(const uint8_t* bytes, size_t size) : blob_(std::malloc(size > 0 ? size : 1)) {
        if (size > 0) std::memcpy(blob_, bytes, size);
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    ~Copy() { std::free(blob_); }

    statsblob* get() { return static_cast<statsblob*>(blob_); }

  private:
    void* blob_;
};

void render(statsblob* blob) {
    sbuf* const text = sbuf_new_auto();
    for (const auto fmt : {SB_STRFMT_FREEFORM, SB_STRFMT_JSON})
        for (const uint32_t flags : {uint32_t{0}, uint32_t{SB_TOSTR_OBJDUMP}})
            require(stats_blob_tostr(blob, text, fmt, flags) == 0);
    sbuf_delete(text);
}

int ask(sb_visit* visit, void* context) {
    auto* const blob = static_cast<statsblob*>(context);
    double answer = 0;
    stats_voi_quantile(blob, visit->voi_id, 0.5, &answer);
    stats_voi_cdf(blob, visit->voi_id, answer, &answer);
    voistatdata* data = nullptr;
    require(stats_voistat_fetch_dptr(blob, visit->voi_id, static_cast<voi_stype>(visit->vs_stype),
                                     nullptr, &data, nullptr) == 0);
    require(data == visit->vs_data);
    return 0;
}

struct Fed {
    statsblob* blob;
    uint64_t number;
};

int feed(sb_visit* visit, void* context) {
    auto& fed = *static_cast<Fed*>(context);
    voistatdata value{};
    ++fed.number;
    value.int64.u64 = fed.number * 0x9e3779b97f4a7c15 >> (fed.number % 64);
    for (const uint32_t flags : {uint32_t{0}, uint32_t{SB_VOI_RELUPDATE}})
        stats_v1_voi_update(reinterpret_cast<statsblobv1*>(fed.blob), visit->voi_id,
                            visit->voi_dtype, &value, flags);
    return 0;
}

void use(statsblob* blob) {
    render(blob);
    require(stats_blob_visit(blob, ask, blob) == 0);
    Fed fed{blob, 1};
    for (int i = 0; i < 8; ++i) require(stats_blob_visit(blob, feed, &fed) == 0);
    statsblob* copy = nullptr;
    require(stats_blob_snapshot(&copy, 0, blob, SB_CLONE_ALLOCDST | SB_CLONE_RSTSRC) == 0);
    stats_blob_merge(blob, copy);
    require(stats_blob_validate(blob, blob->cursz) == 0);
    require(stats_blob_validate(copy, copy->cursz) == 0);
    render(blob);
    stats_blob_destroy(copy);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
    if (size == 0) return 0;
    const size_t shift = input[0] % 8;
    std::vector<uint8_t> shifted(shift);
    shifted.insert(shifted.end(), input + 1, input + size);
    Copy misaligned(shifted.data(), shifted.size());
    const int verdict =
        stats_blob_validate(reinterpret_cast<const uint8_t*>(misaligned.get()) + shift, size - 1);
    Copy aligned(input + 1, size - 1);
    require(stats_blob_validate(aligned.get(), size - 1) == verdict);
    if (verdict == 0) use(aligned.get());
    return 0;
}
