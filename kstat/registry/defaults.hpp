// What ks_update and ks_snapshot do for a kstat whose provider did not say otherwise.
//
// Threads: as any ks_update and ks_snapshot: the kstat held, its ks_lock taken.
// Source:  kstat_create(9F), ks_update(9E), ks_snapshot(9E).
#pragma once

#include <sys/kstat.h>

#include <cstddef>

namespace blkscope::kstat {

/// Bytes of one record of a type; 0 for a number that is no type.
size_t record_size(uchar_t type);

/// Always 0. A NAMED kstat whose size may change gets its ks_data_size counted anew.
int default_update(kstat_t* ksp, int rw);

/// Copies ks_data to `buffer` of ks_data_size bytes, or back. EACCES: a write to one that is not
/// writable. The times of an IO kstat are nanoseconds in the buffer and ticks in ks_data.
int default_snapshot(kstat_t* ksp, void* buffer, int rw);

}  // namespace blkscope::kstat
