// Templates with names of their own, and blobs that free themselves.
#pragma once
#include <blkscope/stats.h>
#include <gtest/gtest.h>
#include <sys/sbuf.h>

#include <memory>
#include <string>
#include <vector>

namespace blkscope::stats {

struct Destroyed {
    void operator()(statsblob* blob) const { stats_blob_destroy(blob); }
};
using BlobPtr = std::unique_ptr<statsblob, Destroyed>;

inline int new_template() {
    static int number = 0;
    return stats_tpl_alloc(("template " + std::to_string(++number)).c_str(), 0);
}

inline int add(int tpl, int32_t id, vsd_dtype dtype, std::vector<voistatspec> specs,
               uint32_t flags = 0, const char* name = "voi") {
    return stats_tpl_add_voistats(static_cast<uint32_t>(tpl), id, name, dtype,
                                  static_cast<uint32_t>(specs.size()), specs.data(), flags);
}

inline BlobPtr blob_of(int tpl) {
    return BlobPtr(stats_blob_alloc(static_cast<uint32_t>(tpl), 0));
}

/// A blob with one VOI, number 0.
inline BlobPtr blob_with(vsd_dtype dtype, std::vector<voistatspec> specs, uint32_t flags = 0) {
    const int tpl = new_template();
    EXPECT_EQ(add(tpl, 0, dtype, std::move(specs), flags), 0);
    return blob_of(tpl);
}

/// The manual's example, made once.
inline int example_template() {
    static const int tpl = [] {
        const int made = stats_tpl_alloc("EX", 0);
        EXPECT_EQ(add(made, 0, VSD_DTYPE_INT_S64, {STATS_VSS_MIN()}, SB_VOI_RELUPDATE, "v0"), 0);
        EXPECT_EQ(add(made, 2, VSD_DTYPE_INT_U32, {STATS_VSS_SUM(), STATS_VSS_MAX()}, 0, "v2"), 0);
        return made;
    }();
    return tpl;
}

inline std::string text_of(statsblob* blob, sb_str_fmt fmt, uint32_t flags = 0) {
    sbuf* const buf = sbuf_new_auto();
    EXPECT_EQ(stats_blob_tostr(blob, buf, fmt, flags), 0);
    EXPECT_EQ(sbuf_finish(buf), 0);
    std::string text = sbuf_data(buf);
    sbuf_delete(buf);
    return text;
}

struct Stat {
    voistatdata* data = nullptr;
    vsd_dtype dtype = VSD_DTYPE_VOISTATE;
    size_t size = 0;
};

inline Stat stat_of(const BlobPtr& blob, voi_stype stype, int32_t id = 0) {
    Stat stat;
    EXPECT_EQ(stats_voistat_fetch_dptr(blob.get(), id, stype, &stat.dtype, &stat.data, &stat.size),
              0);
    return stat;
}

}  // namespace blkscope::stats
