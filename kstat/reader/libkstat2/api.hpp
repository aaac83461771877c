// The frame of every function of the C interface.
#pragma once

#include <kstat2.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <system_error>
#include <type_traits>

#include "kstat/reader/libkstat2/handle.hpp"
#include "kstat/reader/libkstat2/node.hpp"
#include "kstat/reader/libkstat2/tree.hpp"

#define EXPORT __attribute__((visibility("default")))

namespace blkscope::kstat2::reader {

inline Handle& handle_of(kstat2_handle_t handle) {
    return static_cast<Handle&>(*handle);
}

inline Node& node_of(kstat2_map_t map) {
    return static_cast<Node&>(*map);
}

inline kstat2_status_t status_of(int error) {
    switch (error) {
        case 0:
            return KSTAT2_S_OK;
        case EACCES:
        case EPERM:
            return KSTAT2_S_NO_PERM;
        case ENOMEM:
            return KSTAT2_S_NO_MEM;
        case ENOENT:
            return KSTAT2_S_NOT_FOUND;
        default:
            errno = error;
            return KSTAT2_S_SYS_FAIL;
    }
}

/// Returns the status of `body`; KSTAT2_S_OK if it returns none. No exception reaches a C program.
template <class Body>
kstat2_status_t guarded(Body&& body) noexcept {
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            return KSTAT2_S_OK;
        } else {
            return body();
        }
    } catch (const std::bad_alloc&) {
        return KSTAT2_S_NO_MEM;
    } catch (const std::system_error& error) {
        return status_of(error.code().value());
    } catch (...) {
        errno = EIO;
        return KSTAT2_S_SYS_FAIL;
    }
}

/// The same with the lock of the tree held: that of a handle or of a map.
template <class Body>
kstat2_status_t locked(Tree& tree, Body&& body) noexcept {
    return guarded([&] {
        const std::lock_guard guard(tree.lock());
        return body();
    });
}

/// Whether `kinds` is a set of kinds, and not the empty one.
inline bool are_kinds(uint32_t kinds) {
    return kinds != 0 && (kinds & ~uint32_t{KSTAT2_NVK_ALL}) == 0;
}

template <class... Pointers>
bool any_null(Pointers... pointers) {
    return ((pointers == nullptr) || ...);
}

}  // namespace blkscope::kstat2::reader
