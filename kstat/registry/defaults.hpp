// The default ks_update and ks_snapshot, for a kstat whose provider set none.
//
// Threads: as for any ks_update and ks_snapshot: the kstat is held and its ks_lock locked.
// Source:  kstat_create(9F), ks_update(9E), ks_snapshot(9E).
#pragma once

#include <sys/kstat.h>

#include <cstddef>

namespace blkscope::kstat {

/// Bytes of one record of a type; 0 for a number that is no type.
size_t record_size(uchar_t type);

/// Always returns 0. Recomputes ks_data_size of a NAMED kstat whose size may change.
int default_update(kstat_t* ksp, int rw);

/// Copies ks_data to `buffer` of ks_data_size bytes, or back. EACCES: a write to a kstat that is
/// not writable. The times of an IO kstat are nanoseconds in the buffer and ticks in ks_data.
int default_snapshot(kstat_t* ksp, void* buffer, int rw);

}  // namespace blkscope::kstat
