// Attach: makes an export of a running server a block device of this machine's kernel, /dev/nbdX.
//
// The kernel's nbd driver takes sockets that are already negotiated. The program nbd-client(8)
// negotiates them and passes them to the kernel, so attach() runs nbd-client.
//
// Units:     as each field says.
// Ownership: the kernel owns the connections. An attached device stays when the program ends.
// Threads:   any; each call blocks until nbd-client has ended.
// Errors:    std::runtime_error with the attempt, the reason and the remedy.
// Source:    nbd-client(8) 3.24; Linux Documentation/admin-guide/blockdev/nbd.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/nbd/uri.hpp"

namespace blkscope {

/// Without a timeout, programs that use the device of a failed server hang until a detach.
inline constexpr unsigned default_timeout_seconds = 30;

struct AttachOptions {
    std::string device;        // /dev/nbd0
    unsigned connections = 1;  // sockets; more than one needs CAN_MULTI_CONN
    unsigned block_bytes = 0;  // logical block size, 512 to 4096; 0: nbd-client's choice
    /// The time after which the kernel fails a request; 0 for never.
    unsigned timeout_seconds = default_timeout_seconds;
    bool read_only = false;
    std::optional<uint64_t> export_bytes = {};  // if the caller knows it; else the server is asked
};

/// Connects `options.device` to the export at `uri`. Loads the nbd module if needed. A kernel that
/// does not read all connections (receivers.hpp) gets new ones. Standard error then has a line, and
/// another one if the disk is smaller than the export (disk_size.hpp). Returns when the partitions are
/// there.
void attach(const nbd::Uri& uri, const AttachOptions& options);

/// Keeps the device that attach() attached connected, and returns when it is detached. When the
/// server has closed and the export is back, connects again. Requests wait in between. Throws
/// std::runtime_error if the export has another size, or lacks an ability that the kernel uses.
/// Also throws if what answers is no NBD server, or if netlink refuses.
///
/// nbd-client's -persist does not work here. In Linux 6.1 NBD_DO_IT succeeds when the server closes
/// the connection, and nbd-client 3.24 then ends.
void keep_attached(const nbd::Uri& uri, const AttachOptions& options);

/// The command that attach() runs, with its arguments.
std::vector<std::string> attach_command(const nbd::Uri& uri, const AttachOptions& options);

/// The process id of the nbd-client that attached the device, as the kernel remembers it. The id is
/// 0 for a device that is not attached.
int attached_by(const std::string& device);

struct DetachOptions {
    bool force = false;  // even if in use; mounted file systems lose their disk
};

/// Disconnects the device and waits until the kernel has freed it and forgotten its partitions. Without
/// force a device in use stays attached: see device_user() in blockdev/backing/image_user.hpp.
void detach(const std::string& device, const DetachOptions& options = {});

/// A kernel device that is connected to a server.
struct AttachedDevice {
    std::string device;  // /dev/nbd0
    uint64_t size_bytes;
    bool read_only;
};
std::vector<AttachedDevice> attached_devices();

/// The X of /dev/nbdX, or -1 for another name.
int nbd_index(const std::string& device);

}  // namespace blkscope
