// The C interface: iterators and references.

#include <cstddef>
#include <utility>
#include <vector>

#include "kstat/reader/libkstat2/api.hpp"

using namespace blkscope::kstat2::reader;  // NOLINT(google-build-using-namespace)

struct kstat2_mapiter {
    Anchor map;
    uint32_t kinds;
    std::vector<const Entry*> entries;
    uint64_t version;  // the map's, if `entries` were its own
    size_t next = 0;
    bool may_remove = false;  // the entry before `next` still exists
};

struct kstat2_mapref {
    Anchor map;
};

namespace {

// The iterator's target exists as long as its map exists and has the same version.
template <class Body>
kstat2_status_t unchanged(kstat2_mapiter& iter, Body&& body) {
    Node* const node = *iter.map;
    if (node == nullptr) return KSTAT2_S_CONC_MOD;
    return locked(node->tree(), [&] {
        return node->version(iter.kinds) == iter.version ? body(*node) : KSTAT2_S_CONC_MOD;
    });
}

}  // namespace

extern "C" {

EXPORT kstat2_status_t kstat2_mapiter_start(kstat2_map_t map, uint32_t kinds,
                                            kstat2_mapiter_t* iter) {
    if (any_null(map, iter) || !are_kinds(kinds)) return KSTAT2_S_INVAL_ARG;
    return locked(node_of(map).tree(), [&] {
        Node& node = node_of(map);
        *iter = new kstat2_mapiter{node.anchor(), kinds, node.entries(kinds), node.version(kinds)};
    });
}

EXPORT kstat2_status_t kstat2_mapiter_hasnext(kstat2_mapiter_t iter, bool* hasnext) {
    if (any_null(iter, hasnext)) return KSTAT2_S_INVAL_ARG;
    return unchanged(*iter, [&](Node& /*node*/) {
        *hasnext = iter->next < iter->entries.size();
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_mapiter_next(kstat2_mapiter_t iter, kstat2_nv_t* nv) {
    if (any_null(iter, nv)) return KSTAT2_S_INVAL_ARG;
    return unchanged(*iter, [&](Node& /*node*/) {
        if (iter->next == iter->entries.size()) return KSTAT2_S_NOT_FOUND;
        *nv = iter->entries[iter->next++]->nv();
        iter->may_remove = true;
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_mapiter_remove(kstat2_mapiter_t iter) {
    if (any_null(iter)) return KSTAT2_S_INVAL_ARG;
    return unchanged(*iter, [&](Node& node) {
        if (!iter->may_remove) return KSTAT2_S_INVAL_STATE;
        const auto status = node.remove(iter->entries[iter->next - 1]->name());
        if (status != KSTAT2_S_OK) return status;
        iter->version = node.version(iter->kinds);
        iter->may_remove = false;
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_mapiter_end(kstat2_mapiter_t* iter) {
    if (any_null(iter)) return KSTAT2_S_INVAL_ARG;
    delete std::exchange(*iter, nullptr);
    return KSTAT2_S_OK;
}

EXPORT kstat2_status_t kstat2_mapref_alloc(kstat2_map_t map, kstat2_mapref_t* ref) {
    if (any_null(map, ref)) return KSTAT2_S_INVAL_ARG;
    return guarded([&] { *ref = new kstat2_mapref{node_of(map).anchor()}; });
}

EXPORT kstat2_status_t kstat2_mapref_deref(kstat2_mapref_t ref, kstat2_map_t* map) {
    if (!any_null(map)) *map = nullptr;
    if (any_null(ref, map)) return KSTAT2_S_INVAL_ARG;
    *map = ref->map->load();
    return *map == nullptr ? KSTAT2_S_DEL_MAP : KSTAT2_S_OK;
}

EXPORT kstat2_status_t kstat2_mapref_free(kstat2_mapref_t* ref) {
    if (any_null(ref)) return KSTAT2_S_INVAL_ARG;
    delete std::exchange(*ref, nullptr);
    return KSTAT2_S_OK;
}

}  // extern "C"
