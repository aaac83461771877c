// Reconnect: one attempt to connect an attached device to an export that is back.
//
// The kernel keeps the size and the abilities that the export had at the attach. So a new export
// must have the same size, and every ability that the kernel uses. A server may also be broken or
// hostile. No server can hold the attempt for longer than its limit.
//
// Units:     bytes.
// Ownership: the caller owns the connection.
// Threads:   any; the call blocks up to its limit, and while a host's name is looked up.
// Errors:    std::runtime_error if what answers is not the export that was attached.
// Source:    the NBD protocol document, "Newstyle negotiation", "Fixed newstyle negotiation"; Linux
//            6.1 drivers/block/nbd.c, nbd_parse_flags(), for the abilities that the kernel uses.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/descriptor.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope {

/// The terms on which the kernel uses an attached device.
struct DeviceTerms {
    uint64_t size_bytes = 0;
    uint64_t block_bytes = 512;  // the size is a multiple of this
    bool read_only = false;
    bool flushes = false;  // sends flushes. Without them, every write has to be on the disk at once
    bool fua = false;      // sends writes with FUA
    bool trims = false;
    bool many_connections = false;  // a flush on one of them is for all

    bool operator==(const DeviceTerms&) const = default;
};

/// The terms of a device, from the folder of the device in /sys/block. The folder does not tell the
/// number of connections.
[[nodiscard]] DeviceTerms device_terms(const std::string& sysfs_folder);

/// A connection that is negotiated with EXPORT_NAME. Closed if the server or the export is not
/// there, or if the server has not answered within `limit`.
[[nodiscard]] Descriptor connect_again(const nbd::Uri& uri, const DeviceTerms& terms,
                                       std::chrono::milliseconds limit);

}  // namespace blkscope
