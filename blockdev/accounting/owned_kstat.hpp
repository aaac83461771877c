// OwnedKstat, OwnedKstat2: kstats that their owner deletes, and how a device makes one.
//
//     create_device_kstat() ──▶ fill in the names of the records ──▶ kstat_install()
//     ~OwnedKstat()         ──▶ kstat_delete(), which waits until no reader uses the kstat
//
// create_device_kstat() is for the counters of a device. The function throws, so that no device is
// served without them. make_device_kstat() is for what a live change publishes. ErrorKstat also throws, but calls kstat_create(), because its kstat has another
// module and is persistent. IoKstat, HistogramKstats and Export (driver/nbd/server) serve without a
// kstat that could not be created, so they do not call create_device_kstat().
//
// Units:     a kstat's times are in nanoseconds; `update` converts from the counters' ticks.
// Ownership: an OwnedKstat owns its kstat. The object in ks_private must outlive the kstat, so a
//            class declares its OwnedKstat as the last member.
// Threads:   any thread may create and delete; `update` runs on the control thread, which
//            serves the kstat socket.
// Errors:    create_device_kstat() throws std::runtime_error; kstat_create() has reported why.
// Source:    kstat_create(9F), kstat_delete(9F), kstat2_create(9F).
#pragma once

#include <sys/kstat.h>
#include <sys/kstat2.h>

#include <cassert>
#include <memory>
#include <stdexcept>
#include <string>

#include "blockdev/accounting/subject.hpp"

namespace blkscope {

/// Deletes a kstat; for std::unique_ptr.
struct KstatDelete {
    void operator()(kstat_t* ksp) const { kstat_delete(ksp); }
};
/// A kstat of ours, created and not always installed; empty if it could not be created.
using OwnedKstat = std::unique_ptr<kstat_t, KstatDelete>;

/// Deletes a kstat2; for std::unique_ptr.
struct Kstat2Delete {
    void operator()(kstat2_t* ksp) const { kstat2_delete(ksp); }
};
/// The same for a kstat2.
using OwnedKstat2 = std::unique_ptr<kstat2_t, Kstat2Delete>;

/// The module of a device's kstats. A device's name is this and its number, as in nbd0.
inline constexpr const char* device_module = "nbd";

/// The properties in which a device's kstats differ.
struct KstatShape {
    const char* what;  // the part of the name behind the comma
    const char* ks_class;
    uchar_t type;    // KSTAT_TYPE_NAMED and so on
    uint_t records;  // for NAMED and TIMER; 1 for the others
};

/// Creates `nbd:N:nbdN,WHAT`, not installed yet. `update` gets `owner` in ks_private. The subject
/// is published. Empty if the kstat could not be created.
inline OwnedKstat make_device_kstat(const Subject& subject, const KstatShape& shape, void* owner,
                                    int (*update)(kstat_t*, int)) {
    assert(subject.published());
    assert(shape.records > 0);
    assert(update != nullptr);
    const std::string name = subject.name + "," + shape.what;
    OwnedKstat kstat(kstat_create(device_module, subject.instance, name.c_str(), shape.ks_class,
                                  shape.type, shape.records, 0));
    if (!kstat) return kstat;
    kstat->ks_private = owner;
    kstat->ks_update = update;
    return kstat;
}

/// The same, but throws.
inline OwnedKstat create_device_kstat(const Subject& subject, const KstatShape& shape, void* owner,
                                      int (*update)(kstat_t*, int)) {
    OwnedKstat kstat = make_device_kstat(subject, shape, owner, update);
    if (!kstat) throw std::runtime_error("create kstat " + subject.name + "," + shape.what);
    return kstat;
}

/// Makes `record` a string. The text outlives the kstat. For a kstat whose update function does not
/// change its size.
inline void add_text(kstat_t& kstat, kstat_named_t& record, const char* name, const char* text) {
    kstat_named_init(&record, name, KSTAT_DATA_STRING);
    kstat_named_setstr(&record, text);
    kstat.ks_data_size += KSTAT_NAMED_STR_BUFLEN(&record);
}

}  // namespace blkscope
