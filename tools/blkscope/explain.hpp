// blkscope explain: where the time of a device's reads and writes goes, on one screen.
//
//     histograms of the interval ─▶ receive, wait, service, reply ──┐
//     diskstats of the disk under the backing ─▶ a part of service ─┴▶ the largest part, in a sentence
//
// Units:   nanoseconds; requests.
// Threads: any.
// Errors:  without such a device or its histograms explain() throws std::runtime_error. Without
//          kstats it throws std::system_error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/iostat/snapshot.hpp"

namespace blkscope {

struct ExplainCommand {
    std::string device;    // empty: the only one; or the file of a trace
    std::string upstream;  // the device behind it; empty: none
    std::string last;      // so far back, instead of an interval from now on; empty: no look back
    double interval_s = 1;
};

/// One stage of the interval's requests.
struct StageTime {
    uint64_t count = 0;
    uint64_t sum_ns = 0;
    std::optional<uint64_t> p99_ns = {};

    [[nodiscard]] double mean_ns() const {
        return count > 0 ? static_cast<double>(sum_ns) / static_cast<double>(count) : 0;
    }
};

/// The figures that Linux has of the disk under a backing, over the interval.
struct DiskTime {
    std::string name;
    uint64_t requests = 0;
    uint64_t ms = 0;  // of all these requests together
};

/// The disk's figures between two looks. Nothing if a look is missing, or the disk is another one.
[[nodiscard]] std::optional<DiskTime> since(const std::optional<DiskTime>& before,
                                            std::optional<DiskTime> now);

/// The state of another server at the end of the interval, in the word of its kstat.
struct UpstreamState {
    std::string word;
    uint64_t reconnects = 0;  // in the interval
};

/// A client that has nearly all of the device, while others want it, too.
struct BusyClient {
    std::string text;  // "client-1, fio (process 4711 of user 0)"
    double share = 0;  // of the time in service of all clients
};

struct Explanation {
    std::string device;
    std::string backing;
    double interval_s = 0;
    StageTime receive = {};
    StageTime wait = {};
    StageTime service = {};
    StageTime reply = {};
    std::optional<DiskTime> disk = {};           // none: memory, or a file of no disk
    std::optional<UpstreamState> upstream = {};  // if the backing is another server
    uint64_t under_way = 0;                      // at the end of the interval
    bool modelled = false;                       // the device has a model
    bool faulted = false;                        // a fault rule has struck in the interval
    std::optional<std::string> late = {};        // a sentence, if the server itself was late
    std::optional<BusyClient> busy_client = {};
    bool limited = false;  // a limit has held requests back, or clients have limits
};

/// The screen: a line for each stage, and at the end the sentence.
[[nodiscard]] std::string explanation_text(const Explanation& explanation);

/// Only the device of that name remains, or the only one if the name is empty.
///
/// Errors: throws std::runtime_error if none or several would remain.
void choose(std::vector<iostat::Device>& devices, const std::string& name);

void explain(const ExplainCommand& command);

}  // namespace blkscope
