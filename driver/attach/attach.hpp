// Attach: makes an export of a running server a block device of this machine's kernel, /dev/nbdX.
//
// The kernel's nbd driver takes sockets that are already negotiated; nbd-client(8) negotiates and
// hands them over, so it is what we run.
//
// Threads: any; each call blocks until nbd-client has ended.
// Errors:  std::runtime_error saying what was tried, why it failed and what to do.
// Source:  nbd-client(8) 3.24; Linux Documentation/admin-guide/blockdev/nbd.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/nbd/uri.hpp"

namespace blkscope {

/// Without one, whoever uses the device of a server that died hangs until it is detached by hand.
inline constexpr unsigned default_timeout_seconds = 30;

struct AttachOptions {
    std::string device;        // /dev/nbd0
    unsigned connections = 1;  // sockets; more than one needs an export with CAN_MULTI_CONN
    unsigned block_bytes = 0;  // logical block size, 512 to 4096; 0 leaves it to nbd-client
    /// After which the kernel gives a request up; 0 for never.
    unsigned timeout_seconds = default_timeout_seconds;
    bool read_only = false;
};

/// Connects `options.device` to the export at `uri`. Loads the nbd module if it is not there.
void attach(const nbd::Uri& uri, const AttachOptions& options);

/// Stays until the device, which is attached to `uri`, is detached, and connects it again whenever
/// its server has gone and come back with an export of the same size; what the device is asked in
/// between waits. Throws std::runtime_error when the size is another, or netlink refuses.
///
/// nbd-client's own -persist does not do it: Linux 6.1 lets NBD_DO_IT end without an error when the
/// server closes the connection, which nbd-client 3.24 takes for the end.
void keep_attached(const nbd::Uri& uri, const std::string& device);

/// The command that attach() runs.
std::vector<std::string> attach_command(const nbd::Uri& uri, const AttachOptions& options);

/// Whose attaching made the device what it is: the process id that the kernel remembers, of the
/// nbd-client; 0 for a device that is not attached.
int attached_by(const std::string& device);

struct DetachOptions {
    bool force = false;  // whoever uses it; mounted file systems on it lose their disk
};

/// Disconnects the device and waits until the kernel has let go of it. Without force, not one that
/// is in use: see device_user().
void detach(const std::string& device, const DetachOptions& options = {});

/// Where device_user() looks: at the machine, or at what a test made up.
struct SystemRoots {
    std::string proc = "/proc";
    std::string sys = "/sys";
};

/// What uses the device or a partition of it, as in "mounted on /mnt", "swap space", "held by dm-0"
/// or "open in process 815 (fio)"; nothing if nothing does, or what does cannot be seen by this
/// user.
std::optional<std::string> device_user(const std::string& device, const SystemRoots& roots = {});

/// A kernel device that is connected.
struct AttachedDevice {
    std::string device;  // /dev/nbd0
    uint64_t size_bytes;
    bool read_only;
};
std::vector<AttachedDevice> attached_devices();

/// The X of /dev/nbdX, or -1 for another name.
int nbd_index(const std::string& device);

}  // namespace blkscope
