// The C interface: matchers, the handle, and optional kstats.

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "kstat/reader/libkstat2/api.hpp"

using namespace blkscope::kstat2;          // NOLINT(google-build-using-namespace)
using namespace blkscope::kstat2::reader;  // NOLINT(google-build-using-namespace)

extern "C" {

EXPORT kstat2_status_t kstat2_alloc_matcher_list(kstat2_matcher_list_t* list) {
    if (any_null(list)) return KSTAT2_S_INVAL_ARG;
    return guarded([&] { *list = new Matchers; });
}

EXPORT kstat2_status_t kstat2_add_matcher(kstat2_match_type_t type, const char* pattern,
                                          kstat2_matcher_list_t list) {
    if (any_null(pattern, list)) return KSTAT2_S_INVAL_ARG;
    return guarded([&] {
        try {
            static_cast<Matchers*>(list)->add(type, pattern);
        } catch (const std::invalid_argument&) {
            return KSTAT2_S_INVAL_ARG;
        }
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_free_matcher_list(kstat2_matcher_list_t* list) {
    if (any_null(list)) return KSTAT2_S_INVAL_ARG;
    delete static_cast<Matchers*>(std::exchange(*list, nullptr));
    return KSTAT2_S_OK;
}

EXPORT kstat2_status_t kstat2_open(kstat2_handle_t* handle, kstat2_matcher_list_t matchers) {
    if (any_null(handle)) return KSTAT2_S_INVAL_ARG;
    return guarded([&] {
        const auto* const list = static_cast<const Matchers*>(matchers);
        *handle = new Handle(list != nullptr ? *list : Matchers());
    });
}

EXPORT kstat2_status_t kstat2_update(kstat2_handle_t handle) {
    if (any_null(handle)) return KSTAT2_S_INVAL_ARG;
    return locked(handle_of(handle).tree(), [&] {
        if (handle_of(handle).tree().is_calling_back()) return KSTAT2_S_INVAL_STATE;
        handle_of(handle).update();
        return KSTAT2_S_OK;
    });
}

EXPORT kstat2_status_t kstat2_close(kstat2_handle_t* handle) {
    if (any_null(handle) || any_null(*handle)) return KSTAT2_S_INVAL_ARG;
    const auto status = locked(handle_of(*handle).tree(), [&] {
        Tree& tree = handle_of(*handle).tree();
        if (tree.is_calling_back()) return KSTAT2_S_INVAL_STATE;
        tree.say_farewell();
        return KSTAT2_S_OK;
    });
    if (status == KSTAT2_S_OK) delete static_cast<Handle*>(std::exchange(*handle, nullptr));
    return status;
}

EXPORT kstat2_status_t kstat2_lookup_map(kstat2_handle_t handle, const char* uri,
                                         kstat2_map_t* map) {
    if (!any_null(map)) *map = nullptr;
    if (any_null(handle, uri, map)) return KSTAT2_S_INVAL_ARG;
    return locked(handle_of(handle).tree(), [&] {
        *map = handle_of(handle).tree().find(uri);
        return *map == nullptr ? KSTAT2_S_NOT_FOUND : KSTAT2_S_OK;
    });
}

}  // extern "C"

namespace {

kstat2_optional_state_t state_of(bool is_on) {
    return is_on ? KSTAT2_OPT_ENABLE : KSTAT2_OPT_DISABLE;
}

// One block of memory, so that its address is enough to free it: the list, then its texts.
kstat2_optional_t* optional_block(const std::map<std::string, Optional>& optionals) {
    size_t size = (optionals.size() + 1) * sizeof(kstat2_optional_t);
    for (const auto& [name, optional] : optionals) size += name.size() + optional.desc.size() + 2;
    void* const block = std::calloc(1, size);
    if (block == nullptr) throw std::bad_alloc();
    auto* const list = static_cast<kstat2_optional_t*>(block);
    auto* text = reinterpret_cast<char*>(list + optionals.size());
    const auto stored = [&text](const std::string& string) {
        char* const copy = text;
        std::memcpy(copy, string.c_str(), string.size() + 1);
        text += string.size() + 1;
        return copy;
    };
    kstat2_optional_t* next = list;
    for (const auto& [name, optional] : optionals) {
        const auto by_default = state_of(optional.is_on_by_default);
        *next++ = {stored(name), stored(optional.desc), by_default, state_of(optional.is_on),
                   by_default};
    }
    return list;
}

}  // namespace

extern "C" {

EXPORT kstat2_status_t kstat2_optional_list(kstat2_handle_t handle, kstat2_optional_t** list,
                                            uint32_t* count) {
    if (any_null(handle, list, count)) return KSTAT2_S_INVAL_ARG;
    return locked(handle_of(handle).tree(), [&] {
        const auto optionals = handle_of(handle).optionals();
        *list = optional_block(optionals);
        *count = static_cast<uint32_t>(optionals.size());
    });
}

EXPORT kstat2_status_t kstat2_optional_list_free(kstat2_optional_t** list) {
    if (any_null(list)) return KSTAT2_S_INVAL_ARG;
    std::free(std::exchange(*list, nullptr));
    return KSTAT2_S_OK;
}

EXPORT kstat2_status_t kstat2_optional_set_state(kstat2_handle_t handle, const char* id,
                                                 kstat2_optional_state_t state) {
    if (any_null(handle, id)) return KSTAT2_S_INVAL_ARG;
    wire::Switch wanted{};
    switch (state) {
        case KSTAT2_OPT_DISABLE:
            wanted = wire::Switch::off;
            break;
        case KSTAT2_OPT_ENABLE:
            wanted = wire::Switch::on;
            break;
        case KSTAT2_OPT_DEFAULT:
            wanted = wire::Switch::by_default;
            break;
        default:
            return KSTAT2_S_INVAL_ARG;
    }
    return locked(handle_of(handle).tree(),
                  [&] { return status_of(handle_of(handle).set_optional(id, wanted)); });
}

}  // extern "C"
