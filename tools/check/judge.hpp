// Whether a condition holds for the time between two looks at the devices.
//
//     requests      0 .... 4.5 ms ....... 5 ms ....... 5.5 ms        the buckets of a histogram
//                          └── the p99 ──┘
//     p99 < 5ms     holds          p99 < 4.4ms   does not hold
//     p99 < 4.7ms   cannot be told, and counts as one that does not hold
//
// A percentile and a maximum are known as a bucket. A condition on them holds if it holds for each
// value of the bucket.
//
// Nothing is measured where no request ended: such a device does not satisfy a condition on times.
// Only `count`, `rate` and `errors` are measured on an idle device.
//
// Ownership: nothing is kept. Threads: any. Errors: none; a Finding says what is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/check/condition.hpp"
#include "tools/iostat/snapshot.hpp"
#include "tools/program/json.hpp"

namespace blkscope::check {

/// A device at a moment. A histogram without counts was empty at that moment. The crtime of a
/// histogram is 0 if the report has none.
struct DeviceLook {
    iostat::Device device;
    std::map<std::string, uint64_t, std::less<>> commands = {};  // read_errors, ...; may be empty
};

struct Look {
    hrtime_t time = 0;  // ns of CLOCK_MONOTONIC: devices with a later crtime are new
    std::vector<DeviceLook> devices;
};

enum class Verdict { holds, fails, unmeasured };

/// The verdict on one condition and one device, and the line that says so. The line has no end.
struct Finding {
    Verdict verdict;
    std::string line;
    std::string condition = {};  // as the user wrote it
    std::string device = {};     // empty: no device matches
    std::string beyond = {};     // of a condition that fails: by how much
    std::string late = {};       // if the server itself was so late that it shows: a line about it
};

/// A finding for each device that matches, or one finding if none does.
///
/// A device counts as unmeasured if it was removed or replaced between the looks. A pattern without
/// a comma matches no partitions and no clients, whose names have one.
[[nodiscard]] std::vector<Finding> judge(const Condition& condition, const Look& before,
                                         const Look& now);

/// The finding as members: condition, device, holds (null: nothing was measured), beyond and line.
[[nodiscard]] program::Json json_of(const Finding& finding);

/// Throws std::invalid_argument if a word behind the name of a device in `look` is no operation and
/// no phase, as in "nbd0.reads". Such a mistake is told before hours of a run.
void require_known_words(const std::vector<Condition>& conditions, const Look& look);

/// The line about a provider or a device that a look lacks, because it could not be read. The line
/// has no end.
[[nodiscard]] std::string unread_text(const std::string& what);

}  // namespace blkscope::check
