// Backing: where a device's bytes are. A backing turns a running Buf into operations on a ring.
//
//     Device ── prepare(buf) ─▶ Backing ─┬─ the result at once
//                                        ├─ an operation on the ring ─────▶ buf.complete(result)
//                                        └─ Ring::completed(buf, result) ─▶ buf.complete(result)
//     Device ── more(buf) ────▶ Backing: does the request need another prepare()?
//
// A backing that wraps another must forward every virtual function. Most of them have a default, so
// the compiler does not report a missing one.
//
// Units:     bytes.
// Ownership: prepare() borrows the buf until its operation has completed. A backing without
//            requests may be destroyed at any time, and its ring goes on. So no operation of the
//            backing's own may outlive the requests that it serves.
// Threads:   constructed on any thread. attach() is called once. Then all functions are the ring's
//            worker's, except another(). Each worker of a device has a backing of its own.
// Errors:    opening throws std::system_error; a request's failure is its completion's -errno.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

struct Subject;

/// The requests that a backing can do. A local one can do all of them.
struct Abilities {
    bool read_only = false;  // no client may write
    bool flush = true;
    bool fua = true;
    bool trim = true;
    bool write_zeroes = true;
    bool fast_zero = true;
    bool holes = true;  // there is information about holes, for a block status
    uint32_t block_bytes_preferred = 4096;
    uint32_t request_bytes_max = uint32_t{32} << 20;  // of a read or write, as clients are told

    friend bool operator==(const Abilities&, const Abilities&) = default;
};

class Backing {
  public:
    virtual ~Backing() = default;
    Backing& operator=(Backing&&) = delete;

    /// The name for people: the file's path, memory, null.
    [[nodiscard]] virtual std::string describe() const = 0;
    /// May grow, and never shrinks. Any thread.
    [[nodiscard]] virtual uint64_t size_bytes() const = 0;
    /// Offset and length of a request are multiples of this; 1 if any will do.
    [[nodiscard]] virtual uint32_t block_bytes() const { return 1; }

    [[nodiscard]] virtual Abilities abilities() const { return {}; }

    /// Binds the backing to the ring of its worker. Once. The ring outlives the backing.
    virtual void attach(Ring& ring) = 0;

    /// Whether another() can make a second backing of the same bytes.
    [[nodiscard]] virtual bool shareable() const { return false; }
    /// A backing of the same bytes for another worker, not attached yet. Both see the same data,
    /// and a flush of either makes all of it stable. Any thread may call it. nullptr if the backing
    /// is not shareable(); std::system_error if it is, but resources are missing.
    [[nodiscard]] virtual std::unique_ptr<Backing> another() const { return nullptr; }

    /// Does the rest of the buf: `resid` bytes after the `moved()` ones, or its current step. The
    /// device's lock is locked. Before work that takes long, the backing calls Ring::unlock(); the
    /// device locks it again. The backing answers in one of these ways, exactly once:
    ///
    ///   - At once: returns the result.
    ///   - By the ring: prepares an operation with the buf as its Completion, and returns nothing.
    ///   - By an operation of the backing's own: returns nothing, and calls
    ///     Ring::completed(buf, result) when that operation has ended.
    ///   - In shares: does a share of long work, calls Ring::completed_later(buf, result) and
    ///     returns nothing. So other requests get their turn before the next share.
    ///
    /// The result, which Buf::absorb() applies:
    ///
    ///   - `-errno` is a failure. After EINTR and EAGAIN the device calls prepare() again, up to
    ///     Buf::retries_max times. After another error, more() is asked.
    ///   - Of a read or write, the bytes that were moved. 0 means that the file is too short.
    ///   - Of another operation, 0 means that `covers` bytes are done. The device sets `covers` to
    ///     `resid`; the backing may set it to less. A positive result is the bytes done.
    ///   - In a later step of a write, any result that is no error ends the step.
    ///
    /// While bytes are left, the device calls prepare() again.
    virtual std::optional<int32_t> prepare(Buf& buf) = 0;

    /// Reads at once for the device itself, which looks for a partition table. False if not all
    /// bytes could be read. The call may block for as long as the disk takes. The device also calls
    /// it in its constructor, when nothing dispatches the ring's completions yet. So the function
    /// must not use the ring, and a backing on another machine needs a way that blocks.
    virtual bool read_now(uint64_t offset, std::span<std::byte> to) {
        (void)offset;
        (void)to;
        return false;
    }

    /// Whether read_now() may be called. Else the device keeps the partitions that it has.
    [[nodiscard]] virtual bool reads_now() const { return true; }
    /// In how many nanoseconds reads_now() may be true again without a request; 0 for never.
    [[nodiscard]] virtual hrtime_t rests_ns() const { return 0; }
    /// The device has made all its calls of read_now().
    virtual void looked() {}

    /// Writes at once for a cache in front of the backing. False if not all bytes could be written.
    /// The same rules as for read_now(), but any thread may call it if the backing has no ring.
    virtual bool write_now(uint64_t offset, std::span<const std::byte> from) {
        (void)offset;
        (void)from;
        return false;
    }

    /// The extent from `offset` on: 1 to `limit` bytes. The answer comes from the file system at
    /// once; the file system may have to read its metadata.
    [[nodiscard]] virtual Extent extent_at(uint64_t offset, uint64_t limit) {
        (void)offset;
        return {limit, false};
    }
    /// Whether prepare() also does a block status, so that extent_at() is not asked. The backing then
    /// fills the buf's list. The list may end early: see ExtentList::end_here().
    [[nodiscard]] virtual bool lists_extents() const { return false; }
    /// Whether there may be holes, so that a read should ask extent_at() first.
    [[nodiscard]] virtual bool sparse() const { return false; }
    /// Whether the disk rotates, so that a seek takes long.
    [[nodiscard]] virtual bool rotational() const { return false; }
    /// Whether a cache operation has an effect.
    [[nodiscard]] virtual bool has_cache() const { return true; }

    /// How often acknowledged writes may have been lost before a flush, as when another server has
    /// ended. The device tells each of its callers once.
    [[nodiscard]] virtual uint64_t losses() const { return 0; }
    /// Whether the backing is useless until it is opened again. Any thread may ask.
    [[nodiscard]] virtual bool must_be_reopened() const { return false; }

    /// The device publishes kstats, and the backing may publish some, too. The subject outlives it.
    virtual void publish(const Subject& subject) { (void)subject; }

    /// Called when the buf's operations have ended, with or without an error (buf.error). The
    /// backing may clear the error. True asks for another prepare().
    virtual bool more(Buf& buf) {
        (void)buf;
        return false;
    }
};

/// How a backing on another machine is used.
struct UpstreamOptions {
    std::chrono::milliseconds timeout{30'000};  // a request that waits longer fails with EIO
    std::chrono::milliseconds settle{1'000};    // how long after a loss an old write is expected
    unsigned connections = 1;                   // to another server, if it allows several
    bool resend = true;                         // writes of a lost connection are sent again
    bool wait = false;                          // opening waits for the other machine

    bool operator==(const UpstreamOptions&) const = default;
};

/// How a backing is opened; memory and null ignore it.
struct BackingOptions {
    bool direct = false;        // O_DIRECT: without the page cache
    bool read_only = false;     // O_RDONLY
    bool force_shared = false;  // even if others write to it, or have it mounted
    bool only_writer = false;   // not if this process writes to it already; no force_shared
    uint32_t queue_depth = 128;
    UpstreamOptions upstream = {};
};

/// A scheme: backings whose specification is the scheme's name, a colon and a text.
///
/// A new scheme needs:
///   - a row in the table of tools/blkscope/backing_schemes.cpp;
///   - its sources in blockdev/ or above, and tests;
///   - its name in the help of `blkscope serve` (tools/blkscope), blkscope(1) and completions/;
///   - a sentence in docs/design.md, "The device", and in CHANGELOG.md.
struct BackingScheme {
    std::string_view name;
    /// Gets the whole specification. Throws as open_backing().
    std::unique_ptr<Backing> (*open)(const std::string& spec, const BackingOptions& options);
};

using BackingSchemes = std::span<const BackingScheme>;

/// memory:SIZE and null:SIZE.
BackingSchemes local_schemes();

/// The scheme's name, as "memory" of memory:SIZE; empty for a path.
std::string_view backing_kind(std::string_view spec, BackingSchemes schemes = local_schemes());

/// Opens `spec`: of one of the schemes, or the path of a regular file or block device.
///
/// Errors: std::system_error, std::invalid_argument for a bad SIZE, or std::runtime_error for a
///         file that others use; each says what was wrong.
std::unique_ptr<Backing> open_backing(const std::string& spec, const BackingOptions& options,
                                      BackingSchemes schemes = local_schemes());

/// "64M" as bytes: a positive decimal number, then K, M, G or T (powers of 1024) or nothing. Throws
/// std::invalid_argument.
uint64_t parse_size(const std::string& text);

}  // namespace blkscope
