// The C functions of <kstat.h>. No exception leaves them.
#include <kstat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <system_error>

#include "kstat/reader/libkstat/handle.hpp"

namespace {

using blkscope::kstat::Handle;

Handle& handle(kstat_ctl_t* kc) {
    return *static_cast<Handle*>(kc);
}

bool failed(kid_t result) {
    return result == -1;
}

bool failed(const void* result) {
    return result == nullptr;
}

// Returns the result of `work`; an exception becomes -1 (or null) and an errno. Success leaves
// errno unchanged, as system calls do: some bindings take a changed errno for a failure.
template <class Work>
auto guarded(Work work) noexcept -> decltype(work()) {
    const int before = errno;
    try {
        const auto result = work();
        if (!failed(result)) errno = before;
        return result;
    } catch (const std::system_error& error) {
        errno = error.code().value();
    } catch (const std::exception&) {
        errno = ENOMEM;
    }
    if constexpr (std::is_pointer_v<decltype(work())>) {
        return nullptr;
    } else {
        return -1;
    }
}

kid_t result(Handle& kc, int error) {
    if (error == 0) return kc.newest_chain_id();
    errno = error;
    return -1;
}

template <class Record>
void* record_called(const kstat_t* ksp, const char* name) {
    auto* const records = static_cast<Record*>(ksp->ks_data);
    for (uint_t i = 0; records != nullptr && i < ksp->ks_ndata; ++i) {
        if (std::strcmp(records[i].name, name) == 0) return &records[i];
    }
    errno = ENOENT;
    return nullptr;
}

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT kstat_ctl_t* kstat_open(void) {
    return guarded([]() -> kstat_ctl_t* {
        auto kc = std::make_unique<Handle>();
        kc->update();
        return kc.release();
    });
}

EXPORT int kstat_close(kstat_ctl_t* kc) {
    delete &handle(kc);
    return 0;
}

EXPORT kid_t kstat_chain_update(kstat_ctl_t* kc) {
    return guarded([kc]() -> kid_t {
        if (handle(kc).update()) return kc->kc_chain_id;
        // Solaris' monitors end after -1, and a part of the chain is of more use to them. A program
        // that asks for warnings about providers is also told that some are missing.
        const int shortage = handle(kc).shortage();
        if (shortage == 0 || secure_getenv("KSTAT_WARN") == nullptr) return 0;
        return result(handle(kc), shortage);
    });
}

EXPORT kid_t kstat_read(kstat_ctl_t* kc, kstat_t* ksp, void* buf) {
    return guarded([=]() -> kid_t { return result(handle(kc), handle(kc).read(*ksp, buf)); });
}

EXPORT kid_t kstat_write(kstat_ctl_t* kc, kstat_t* ksp, void* buf) {
    return guarded([=]() -> kid_t { return result(handle(kc), handle(kc).write(*ksp, buf)); });
}

EXPORT kstat_t* kstat_lookup(kstat_ctl_t* kc, const char* ks_module, int ks_instance,
                             const char* ks_name) {
    for (kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if ((ks_module == nullptr || std::strcmp(ksp->ks_module, ks_module) == 0) &&
            (ks_instance == -1 || ksp->ks_instance == ks_instance) &&
            (ks_name == nullptr || std::strcmp(ksp->ks_name, ks_name) == 0)) {
            return ksp;
        }
    }
    errno = ENOENT;
    return nullptr;
}

EXPORT void* kstat_data_lookup(kstat_t* ksp, const char* name) {
    switch (ksp->ks_type) {
        case KSTAT_TYPE_NAMED:
            return record_called<kstat_named_t>(ksp, name);
        case KSTAT_TYPE_TIMER:
            return record_called<kstat_timer_t>(ksp, name);
        default:
            errno = EINVAL;
            return nullptr;
    }
}

}  // extern "C"
