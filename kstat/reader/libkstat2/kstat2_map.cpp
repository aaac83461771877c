// The C interface: maps and their values.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kstat/reader/libkstat2/api.hpp"

using namespace blkscope::kstat2;          // NOLINT(google-build-using-namespace)
using namespace blkscope::kstat2::reader;  // NOLINT(google-build-using-namespace)

namespace {

kstat2_status_t put(kstat2_map_t map, const char* name, Data data) {
    if (*name == '\0') return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] { return node_of(map).put(name, std::move(data)); });
}

kstat2_status_t set_callback(kstat2_map_t map, Callback Node::*which, Callback callback) {
    if (any_null(map)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] { node_of(map).*which = callback; });
}

}  // namespace

extern "C" {

EXPORT kstat2_status_t kstat2_map_get(kstat2_map_t map, const char* name, kstat2_nv_t* nv) {
    if (any_null(map, name, nv)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] {
        const Entry* const entry = node_of(map).find(name);
        if (entry == nullptr) return KSTAT2_S_NOT_FOUND;
        *nv = entry->nv();
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_map_flags(kstat2_map_t map, uint32_t* flags) {
    if (any_null(map, flags)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] {
        const Listed* const kstat = node_of(map).kstat();
        *flags = kstat != nullptr ? kstat->map.flags : uint32_t{KSTAT2_MAPF_NONE};
    });
}

EXPORT kstat2_status_t kstat2_map_size(kstat2_map_t map, uint32_t kinds, uint32_t* size) {
    if (any_null(map, size) || !are_kinds(kinds)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(),
                  [&] { *size = static_cast<uint32_t>(node_of(map).entries(kinds).size()); });
}

EXPORT kstat2_status_t kstat2_map_uri(kstat2_map_t map, const char** uri) {
    if (any_null(map, uri)) return KSTAT2_S_INVAL_ARG;
    *uri = node_of(map).uri().c_str();
    return KSTAT2_S_OK;
}

EXPORT kstat2_status_t kstat2_map_parent(kstat2_map_t map, kstat2_map_t* parent) {
    if (any_null(map, parent)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] {
        Node* const above = node_of(map).parent();
        if (above == nullptr) return KSTAT2_S_NOT_FOUND;
        *parent = above;
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_map_to_array(kstat2_map_t map, kstat2_nv_t nv_array[], uint32_t* size,
                                           uint32_t* entries) {
    if (any_null(map, size, entries) || any_null(nv_array)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] {
        const auto all = node_of(map).entries(KSTAT2_NVK_ALL);
        if (all.size() > *size) return KSTAT2_S_NO_SPACE;
        std::ranges::transform(all, nv_array, &Entry::nv);
        *size = static_cast<uint32_t>(all.size());
        *entries = *size;
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_map_meta(kstat2_map_t map, kstat2_map_meta_t* meta) {
    if (any_null(map, meta)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] {
        *meta = {KSTAT2_MT_NONE, KSTAT2_MF_NONE, ""};
        if (const Listed* const kstat = node_of(map).kstat()) {
            *meta = {kstat->map.metatype, kstat->map.metaflags, kstat->map.desc.c_str()};
        }
    });
}

EXPORT kstat2_status_t kstat2_nv_meta(kstat2_map_t map, const char* name, kstat2_nv_meta_t* meta) {
    if (any_null(map, name, meta)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] {
        if (const Metadata* const known = node_of(map).metadata(name)) {
            *meta = {known->type, known->flags, known->scale, known->descr.c_str()};
            return KSTAT2_S_OK;
        }
        const Entry* const entry = node_of(map).find(name);
        if (entry == nullptr) return KSTAT2_S_NOT_FOUND;
        if (entry->is_of(KSTAT2_NVK_MAP)) return KSTAT2_S_INVAL_TYPE;
        *meta = {KSTAT2_NVMT_UNK, KSTAT2_NVMF_NONE, 1, ""};
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_map_put_integer(kstat2_map_t map, const char* name,
                                              uint64_t integer) {
    if (any_null(map, name)) return KSTAT2_S_INVAL_ARG;
    return put(map, name, integer);
}

EXPORT kstat2_status_t kstat2_map_put_integers(kstat2_map_t map, const char* name,
                                               const uint64_t* array, uint32_t length) {
    if (any_null(map, name) || (any_null(array) && length != 0)) return KSTAT2_S_INVAL_ARG;
    return guarded([&] { return put(map, name, std::vector<uint64_t>(array, array + length)); });
}

EXPORT kstat2_status_t kstat2_map_put_string(kstat2_map_t map, const char* name,
                                             const char* string) {
    if (any_null(map, name, string)) return KSTAT2_S_INVAL_ARG;
    return guarded([&] { return put(map, name, std::string(string)); });
}

EXPORT kstat2_status_t kstat2_map_put_strings(kstat2_map_t map, const char* name,
                                              const char* const* array, uint32_t length) {
    if (any_null(map, name) || (any_null(array) && length != 0)) return KSTAT2_S_INVAL_ARG;
    if (std::find(array, array + length, nullptr) != array + length) return KSTAT2_S_INVAL_ARG;
    return guarded([&] { return put(map, name, std::vector<std::string>(array, array + length)); });
}

EXPORT kstat2_status_t kstat2_map_remove(kstat2_map_t map, const char* name) {
    if (any_null(map, name)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] { return node_of(map).remove(name); });
}

EXPORT kstat2_status_t kstat2_map_set_userdata(kstat2_map_t map, void* userdata) {
    if (any_null(map)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] { node_of(map).userdata = userdata; });
}

EXPORT kstat2_status_t kstat2_map_get_userdata(kstat2_map_t map, void** userdata) {
    if (any_null(map, userdata)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] {
        if (node_of(map).userdata == nullptr) return KSTAT2_S_INVAL_ARG;
        *userdata = node_of(map).userdata;
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_map_set_tree_cb(kstat2_map_t map, kstat2_map_cb_t callback,
                                              void* arg) {
    return set_callback(map, &Node::on_tree, {callback, arg});
}

EXPORT kstat2_status_t kstat2_map_set_data_cb(kstat2_map_t map, kstat2_map_cb_t callback,
                                              void* arg) {
    return set_callback(map, &Node::on_data, {callback, arg});
}

EXPORT kstat2_status_t kstat2_map_set_remove_cb(kstat2_map_t map, kstat2_map_cb_t callback,
                                                void* arg) {
    return set_callback(map, &Node::on_remove, {callback, arg});
}

}  // extern "C"
