// What the kstat device does for a reader: read one kstat's data, or write it.
//
// Threads: any; each holds the kstat, and takes its ks_lock across ks_update and ks_snapshot.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kstat/registry/chain.hpp"

namespace blkscope::kstat {

/// A header as it was when its data was copied, and the data. Strings of a NAMED kstat lie behind
/// the records, and their pointers point there.
struct Reading {
    int error = 0;         // an errno; ENXIO: no such kstat
    bool reached = false;  // the header below is that of the kstat, even if the copying failed
    kstat_t header{};
    std::vector<std::byte> data;  // empty on error
};

/// Bytes that one kstat's data may have; a larger one reads as EFBIG.
inline constexpr size_t data_size_max = size_t{64} << 20;

/// Errors: ENXIO no such kstat; EAGAIN not installed (again) yet; EFBIG; what ks_update and
/// ks_snapshot return.
Reading read_kstat(Chain& chain, kid_t kid);

/// Writes `data`, `ndata` records with strings behind them whose pointers point into `data`.
///
/// Errors: ENXIO, EAGAIN as above; EACCES not writable; EINVAL another size, number of records or
///         record type than the kstat has, or a string outside; what the provider returns.
int write_kstat(Chain& chain, kid_t kid, uint_t ndata, std::span<std::byte> data);

}  // namespace blkscope::kstat
