// The answers of a server about its recorders: where a trace begins, and a part of the trace.
//
// Threads: any.
// Errors:  std::runtime_error, as server_answer.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/blkscope/strict_json.hpp"
#include "trace/request.hpp"

namespace blkscope {

/// The next record of each worker.
using RecorderHeads = std::vector<uint64_t>;

struct TraceStart {
    RecorderHeads heads;
    int64_t realtime_ns = 0;
    std::map<std::string, std::string> properties;
};

struct TracePart {
    RecorderHeads next;
    uint64_t lost = 0;
    std::vector<trace::Request> requests;
};

TraceStart trace_start_of(const StrictJson& answer);
RecorderHeads heads_of(const StrictJson& answer);
/// The part behind the records `from`. The next records are not before those.
TracePart trace_part_of(const StrictJson& answer, const RecorderHeads& from);

/// The number of records from one place to the other.
uint64_t records_between(const RecorderHeads& from, const RecorderHeads& to);

/// Whether all records before the heads have been passed.
bool reaches(const RecorderHeads& from, const RecorderHeads& heads);

}  // namespace blkscope
