// The error kstats of devices: three counters for the columns, and all records for the listing.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace blkscope::iostat {

/// One record of an error kstat. The name is empty if the driver never set one. The value is
/// monostate if its type is another.
struct ErrorRecord {
    std::string name;
    std::variant<std::monostate, std::string, uint32_t, uint64_t> value;
};

using ErrorRecords = std::vector<ErrorRecord>;

/// Whether kstats of this class count a device's errors. The device's name is the kstat's name up
/// to its first comma.
[[nodiscard]] bool counts_errors(std::string_view kstat_class);

/// Copies the records of an error kstat, whose data must have been read.
///
/// Ownership: borrows `records` and the strings in them for the call.
[[nodiscard]] ErrorRecords copy_errors(const kstat_named_t* records, size_t count);

/// The number in the record at `position`: 0 soft, 1 hard, 2 transport errors. Only its low 32 bits
/// count. 0 if there is no such record.
[[nodiscard]] uint32_t error_count(const ErrorRecords& records, size_t position);

/// Requests that were refused as the client's mistake. No other error counts them. 0 if there is no
/// such record.
inline constexpr std::string_view refused_requests = "Illegal Request";
[[nodiscard]] uint32_t error_count(const ErrorRecords& records, std::string_view name);

/// The listing (-E) of one device: its name, then the records in their order.
///
/// If `device_id` is not null, its text replaces the serial number; the text may be empty.
struct Listing {
    std::string name;
    bool names_last = false;       // -n: the name has more room
    bool comma_separated = false;  // -r: a comma between the records of a line
    const std::string* device_id = nullptr;
};

[[nodiscard]] std::string error_listing(const ErrorRecords& records, const Listing& listing);

}  // namespace blkscope::iostat
