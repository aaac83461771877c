// The way of a kstat's data between the wire, ks_data and the caller's buffer.
#pragma once

#include <span>
#include <vector>

#include "kstat/wire/message.hpp"

namespace blkscope::kstat {

/// Puts what a provider read into ksp, and into `buffer` unless that is null. `body` is the
/// reply's, a DataHead and the data. Returns an errno:
///
///   0       done; ks_ndata, ks_data_size, ks_flags and ks_snaptime are up to date
///   ENOMEM  more data than ks_data_size in a kstat whose size does not change; or no memory
///   EIO     not the data of such a kstat
int accept_data(kstat_t& ksp, std::span<std::byte> body, void* buffer);

/// Takes over ks_flags and ks_snaptime, as after a failed read; ks_ndata and ks_data_size, too,
/// while there is no ks_data that they would have to fit.
void accept_head(kstat_t& ksp, wire::Bytes body);

/// Copies `buffer` (unless null) to ks_data and makes a write request's body of it. Returns an
/// errno: EINVAL if there is no data, or a string lies outside of it; ENOMEM.
int prepare_write(kstat_t& ksp, const void* buffer, wire::DataHead& head,
                  std::vector<std::byte>& data);

}  // namespace blkscope::kstat
