// OwnedKstat, OwnedKstat2: kstats that are ours to delete, and how a device makes one.
//
// Errors: create_device_kstat() throws std::runtime_error; kstat_create() has said why.
#pragma once

#include <sys/kstat.h>
#include <sys/kstat2.h>

#include <cassert>
#include <memory>
#include <stdexcept>
#include <string>

#include "blockdev/accounting/subject.hpp"

namespace blkscope {

struct KstatDelete {
    void operator()(kstat_t* ksp) const { kstat_delete(ksp); }
};
using OwnedKstat = std::unique_ptr<kstat_t, KstatDelete>;

struct Kstat2Delete {
    void operator()(kstat2_t* ksp) const { kstat2_delete(ksp); }
};
using OwnedKstat2 = std::unique_ptr<kstat2_t, Kstat2Delete>;

/// The module of a device's kstats, and its devices' name without the number.
inline constexpr const char* device_module = "nbd";

/// What is particular to one of a device's kstats.
struct KstatShape {
    const char* what;  // the part of its name behind the comma
    const char* ks_class;
    uchar_t type;
    uint_t records;
};

/// `nbd:N:nbdN,WHAT`, not installed yet. `owner` is what `update` finds in ks_private.
inline OwnedKstat create_device_kstat(const Subject& subject, const KstatShape& shape, void* owner,
                                      int (*update)(kstat_t*, int)) {
    assert(subject.published());
    assert(shape.records > 0);
    assert(update != nullptr);
    const std::string name = subject.name + "," + shape.what;
    OwnedKstat kstat(kstat_create(device_module, subject.instance, name.c_str(), shape.ks_class,
                                  shape.type, shape.records, 0));
    if (!kstat) throw std::runtime_error("create kstat " + name);
    kstat->ks_private = owner;
    kstat->ks_update = update;
    return kstat;
}

}  // namespace blkscope
