// The error kstats of devices: three counters for columns, and everything else for a listing.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace blkscope::iostat {

/// One record of an error kstat. Its name is empty if the driver never named it; its value is of no
/// use (monostate) if it is of any other type.
struct ErrorRecord {
    std::string name;
    std::variant<std::monostate, std::string, uint32_t, uint64_t> value;
};

using ErrorRecords = std::vector<ErrorRecord>;

/// Whether kstats of this class count a device's errors. The device has the kstat's name up to its
/// first comma.
[[nodiscard]] bool counts_errors(std::string_view kstat_class);

/// Copies the records of an error kstat that has been read.
///
/// Ownership: borrows `records` and the strings in them for the call.
[[nodiscard]] ErrorRecords copy_errors(const kstat_named_t* records, size_t count);

/// The number in the record at `position`: 0 soft, 1 hard, 2 transport errors. Only its low 32 bits
/// count. 0 if there is none.
[[nodiscard]] uint32_t error_count(const ErrorRecords& records, size_t position);

/// The lines of one device's listing (-E): its name, then the records as they come.
///
/// `device_id`, where there is one to show instead of the serial number, may be empty.
struct Listing {
    std::string name;
    bool names_last = false;  // -n: there is more room for the name
    const std::string* device_id = nullptr;
};

[[nodiscard]] std::string error_listing(const ErrorRecords& records, const Listing& listing);

}  // namespace blkscope::iostat
