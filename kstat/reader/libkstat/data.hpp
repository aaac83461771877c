// The transfer of a kstat's data between the wire, ks_data and the caller's buffer.
#pragma once

#include <span>
#include <vector>

#include "base/result.hpp"
#include "kstat/wire/message.hpp"

namespace blkscope::kstat {

/// The memory that a read has allocated for ks_data. After a shorter read it is larger than
/// ks_data_size. Memory at another place is the caller's.
struct Room {
    const void* place = nullptr;
    size_t size = 0;
};

/// Stores a provider's reply in ksp, and in `buffer` unless that is null. `body` is the reply's: a
/// DataHead and the data. Returns an errno:
///
///     0       done; ks_ndata, ks_data_size, ks_flags and ks_snaptime are up to date
///     ENOMEM  more data than room in a kstat whose size does not change; or no memory
///     EIO     not the data of such a kstat
int accept_data(kstat_t& ksp, std::span<std::byte> body, void* buffer, Room& room);

/// The data of `from`, for a copy of its header: what a read of `from` may have changed.
void take_over_data(kstat_t& copy, const kstat_t& from);

/// Sets ks_flags and ks_snaptime, as after a failed read. Also sets ks_ndata and ks_data_size, if
/// there is no ks_data that they must fit.
void accept_head(kstat_t& ksp, wire::Bytes body);

/// The body of a write request.
struct WriteRequest {
    wire::DataHead head;  // without a number of the kstat
    std::vector<std::byte> data;
};

/// Copies `buffer` (unless null) to ks_data and builds a write request from it.
///
/// Errors: EINVAL if there is no data, or a string lies outside of it; ENOMEM.
Result<WriteRequest> prepare_write(kstat_t& ksp, const void* buffer);

}  // namespace blkscope::kstat
