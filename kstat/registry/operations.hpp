// The operations of the kstat device for a reader: read one kstat's data, or write it.
//
// Threads: any. Each operation holds the kstat, and locks its ks_lock across ks_update and
//          ks_snapshot.
#pragma once

#include <cstddef>
#include <span>

#include "kstat/registry/chain.hpp"
#include "kstat/registry/zeroed_bytes.hpp"

namespace blkscope::kstat {

/// A header as it was when its data was copied, and the data. Strings of a NAMED kstat lie behind
/// the records, and the records point at these strings.
struct Reading {
    int error = 0;         // an errno; ENXIO: no such kstat
    bool reached = false;  // the header below is the kstat's, even if the copying failed
    kstat_t header{};
    ZeroedBytes data;  // empty on error
};

/// Limit of one kstat's data, in bytes; a read of a larger one fails with EFBIG.
inline constexpr size_t data_size_max = size_t{64} << 20;

/// Errors: ENXIO no such kstat; EAGAIN not, or not yet again, installed; EFBIG; the errors of
///         ks_update and ks_snapshot.
Reading read_kstat(Chain& chain, kid_t kid);

/// Writes `data`: `ndata` records, with strings behind them. The records' pointers point into
/// `data`.
///
/// Errors: ENXIO, EAGAIN as above; EACCES not writable; the errors of the provider. EINVAL: the
///         size, the number of records or a record type is not the kstat's. EINVAL also: a string
///         lies outside of `data`.
int write_kstat(Chain& chain, kid_t kid, uint_t ndata, std::span<std::byte> data);

}  // namespace blkscope::kstat
