#include "kstat2_processes.hpp"

#include <stdexcept>

namespace blkscope {

Kstat2Processes::~Kstat2Processes() {
    if (handle != nullptr) kstat2_close(&handle);
}

void Kstat2Processes::open2(const char* glob) {
    kstat2_matcher_list_t list = nullptr;
    if (glob != nullptr) {
        ASSERT_EQ(kstat2_alloc_matcher_list(&list), KSTAT2_S_OK);
        ASSERT_EQ(kstat2_add_matcher(KSTAT2_M_GLOB, glob, list), KSTAT2_S_OK);
    }
    ASSERT_EQ(kstat2_open(&handle, list), KSTAT2_S_OK);
    kstat2_free_matcher_list(&list);
    update();
}

kstat2_map_t Kstat2Processes::map(const std::string& uri) const {
    kstat2_map_t found = nullptr;
    kstat2_lookup_map(handle, uri.c_str(), &found);
    return found;
}

kstat2_nv_t Kstat2Processes::nv(const std::string& uri, const char* name) const {
    kstat2_nv_t found = nullptr;
    kstat2_map_get(map(uri), name, &found);
    return found;
}

uint64_t Kstat2Processes::integer(const std::string& uri, const char* name) const {
    const kstat2_nv_t found = nv(uri, name);
    if (found == nullptr || found->type != KSTAT2_NVVT_INT) {
        throw std::runtime_error("no integer " + uri + ":" + name);
    }
    return found->kstat2_integer;
}

std::vector<std::string> Kstat2Processes::names(const std::string& uri, uint32_t kinds) const {
    std::vector<std::string> found;
    kstat2_mapiter_t iter = nullptr;
    if (kstat2_mapiter_start(map(uri), kinds, &iter) != KSTAT2_S_OK) return found;
    kstat2_nv_t next = nullptr;
    while (kstat2_mapiter_next(iter, &next) == KSTAT2_S_OK) found.emplace_back(next->name);
    kstat2_mapiter_end(&iter);
    return found;
}

kstat2_t* publish_count(Path path, uint64_t count, uint32_t flags, kstat2_metaflag_t mflags) {
    static const kstat2_md_t meaning{KSTAT2_NVMT_CNT, KSTAT2_NVMF_NONE, 1, "how many", -1};
    kstat2_t* const ksp = kstat2_create(path.data(), static_cast<uint32_t>(path.size()), ALL_ZONES,
                                        nullptr, 1, flags, &meaning, "a count", mflags);
    if (ksp == nullptr) return nullptr;
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "count", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    KSTAT2_NAMED_PTR(ksp)->value.integer = count;
    kstat2_install(ksp);
    return ksp;
}

std::function<void(const Line&)> provide_count(Path path, uint64_t count) {
    return [=](const Line& line) {
        publish_count(path, count);
        take_turns(line);
    };
}

}  // namespace blkscope
