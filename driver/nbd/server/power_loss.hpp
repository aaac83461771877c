// PowerLoss: some exports of a server lose their power at one moment.
//
//     models, limits and faults end ─▶ all connections are closed ─▶ each crash cache loses data
//                                                                ─▶ the devices serve again
//
// Connections are closed first. Otherwise a client could flush on a connection whose writes are
// lost already, and the flush would succeed. Requests under way end in the device without an
// answer. The control thread waits meanwhile, so no client can connect.
//
// Units:     blocks.
// Ownership: borrows the exports for the call.
// Threads:   the control thread.
// Errors:    std::runtime_error if no export has a crash cache, or if a request does not end in time.
//            The same if a worker does not answer in time. No data is lost then. In the second case
//            the connections are closed, in the third case perhaps some of them. After any exception
//            the devices have their power again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blockdev/model/crash_cache.hpp"

namespace blkscope::nbd {

struct Export;
class Workers;

struct PowerLoss {
    std::string device;
    bool cached = false;  // false: the device has no crash cache, and has lost nothing
    /// Nothing if the backing has refused a write.
    std::optional<model::CrashCache::Survival> survival = {};
};

/// One result for each export, in their order.
std::vector<PowerLoss> lose_power(Workers& workers, const std::vector<Export*>& exports);

}  // namespace blkscope::nbd
