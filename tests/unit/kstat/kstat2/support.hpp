// The parts that the tests of kstat2 share.
#pragma once

#include <gtest/gtest.h>
#include <sys/kstat2.h>
#include <sys/mutex.h>

#include <string>
#include <vector>

#include "kstat/registry/maps.hpp"

namespace blkscope::kstat2::tests {

/// "misc/my_drv/1" as the array that the create functions take.
class Segments {
  public:
    explicit Segments(const std::string& path) {
        for (size_t from = 0; from <= path.size();) {
            const size_t end = std::min(path.find('/', from), path.size());
            texts_.push_back(path.substr(from, end - from));
            from = end + 1;
        }
        for (const std::string& text : texts_) pointers_.push_back(text.c_str());
    }
    Segments(const Segments&) = delete;
    Segments& operator=(const Segments&) = delete;

    const char** data() { return pointers_.data(); }
    uint32_t size() const { return static_cast<uint32_t>(pointers_.size()); }

  private:
    std::vector<std::string> texts_;
    std::vector<const char*> pointers_;
};

/// Deletes a kstat at the end, also one that would become dormant.
struct Deleted {
    void operator()(kstat2_t* ksp) const {
        // No function takes a persistent one away; the framework's own flag does.
        ksp->ks2_flags &= ~static_cast<uint32_t>(KSTAT2_FLAG_PERSISTENT);
        kstat2_delete(ksp);
    }
};
using Owned = std::unique_ptr<kstat2_t, Deleted>;

/// `ndata` pairs of the framework's, not installed.
inline kstat2_t* create(const std::string& path, uint_t ndata = 1, uint32_t flags = 0,
                        zoneid_t zone = ALL_ZONES, kstat2_metaflag_t mflags = KSTAT2_MF_NONE,
                        kstat2_named_t* data = nullptr) {
    Segments segments(path);
    return kstat2_create(segments.data(), segments.size(), zone, data, ndata, flags, nullptr,
                         "a test's", mflags);
}

/// One integer "n", installed.
inline kstat2_t* number(const std::string& path, uint64_t value, uint32_t flags = 0,
                        zoneid_t zone = ALL_ZONES, kstat2_metaflag_t mflags = KSTAT2_MF_NONE) {
    kstat2_t* const ksp = create(path, 1, flags, zone, mflags);
    if (ksp == nullptr) return nullptr;
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "n", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    KSTAT2_NAMED_PTR(ksp)->value.integer = value;
    kstat2_install(ksp);
    return ksp;
}

inline kstat2_t* templated(const std::string& path, uint32_t id, uint32_t flags = 0,
                           kstat2_named_t* data = nullptr) {
    Segments segments(path);
    return kstat2_create_with_template(segments.data(), segments.size(), ALL_ZONES,
                                       kstat2_lookup_template(id), flags, data, "a test's",
                                       KSTAT2_MF_NONE);
}

/// A histogram of counts, not installed.
inline kstat2_t* histogram(const std::string& path, const Buckets& shape, uint32_t flags = 0,
                           uint64_t* buckets = nullptr, uint16_t num_buckets = 0) {
    Segments segments(path);
    return kstat2_create_histogram(segments.data(), segments.size(), ALL_ZONES, shape.type(),
                                   KSTAT2_NVMT_CNT, 1, KSTAT2_NVMF_NONE, buckets, num_buckets,
                                   shape.range_min(), shape.range_max(), shape.stepping(), flags,
                                   "a test's", KSTAT2_MF_NONE);
}

inline constexpr Viewer anyone{};
inline constexpr Viewer root{true, GLOBAL_ZONEID};

inline Reading read(const kstat2_t* ksp, const Viewer& viewer = anyone) {
    return Maps::of_this_process().read(viewer, ksp->ks2_kid);
}

inline uint64_t integer(const Reading& reading, size_t i = 0) {
    return std::get<uint64_t>(reading.values.values.at(i).data);
}

inline std::vector<uint64_t> integers(const Reading& reading, size_t i = 0) {
    return std::get<std::vector<uint64_t>>(reading.values.values.at(i).data);
}

/// The map as the viewer's list has it; nothing if it is not there.
inline std::optional<Map> listed(const kstat2_t* ksp, const Viewer& viewer = anyone) {
    const auto page = Maps::of_this_process().list(viewer, ksp->ks2_kid - 1, 1);
    if (page.maps.empty() || page.maps[0].kid != ksp->ks2_kid) return std::nullopt;
    return page.maps[0];
}

/// The text that `act` wrote to standard error.
template <class Act>
std::string said(Act act) {
    testing::internal::CaptureStderr();
    act();
    return testing::internal::GetCapturedStderr();
}

}  // namespace blkscope::kstat2::tests
