// Backing: where a device's bytes are. It turns a running Buf into operations on a ring.
//
// Ownership: prepare() borrows the buf until its operation has completed.
// Threads:   open on any thread; attach() once, and from then on the ring's worker only, but for
//            another(). Where several workers serve a device each has a backing of its own.
// Errors:    opening throws std::system_error; a request's failure is its completion's -errno.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

class Backing {
  public:
    virtual ~Backing() = default;
    Backing() = default;
    Backing(const Backing&) = delete;
    Backing& operator=(const Backing&) = delete;

    /// What a person calls it: the file's path, memory, null.
    [[nodiscard]] virtual std::string describe() const = 0;
    [[nodiscard]] virtual uint64_t size_bytes() const = 0;
    /// What offset and length of a request must be multiples of: 1 where anything goes.
    [[nodiscard]] virtual uint32_t block_bytes() const { return 1; }

    /// Once. The ring outlives the backing.
    virtual void attach(Ring& ring) = 0;

    /// Whether there can be another() one.
    [[nodiscard]] virtual bool shareable() const { return false; }
    /// The same bytes for another worker, not attached yet: what is written through one is read
    /// through the other, and made stable by a flush of either. Any thread; null where that cannot
    /// be, std::system_error where it should but is not possible now.
    [[nodiscard]] virtual std::unique_ptr<Backing> another() const { return nullptr; }

    /// Does what is left of the buf (resid bytes, or the step it is at). The result where the backing
    /// did it on the spot, with the device's lock unlocked where that takes long. Nothing where it
    /// prepared an operation: the buf's complete() is called when that has ended.
    virtual std::optional<int32_t> prepare(Buf& buf) = 0;

    /// Reads at once, without the ring, for what the device itself wants to know: false where it
    /// cannot give all of it. May block for as long as the disk takes.
    virtual bool read_now(uint64_t offset, std::span<std::byte> to) {
        (void)offset;
        (void)to;
        return false;
    }

    /// The extent that `offset` lies in, from there on: 1 to `limit` bytes. At once, from what the
    /// file system knows; it may have to read that.
    [[nodiscard]] virtual Extent extent_at(uint64_t offset, uint64_t limit) {
        (void)offset;
        return {limit, false};
    }
    /// Whether a read does well to ask extent_at() first.
    [[nodiscard]] virtual bool sparse() const { return false; }
    /// Whether a seek takes its time there.
    [[nodiscard]] virtual bool rotational() const { return false; }
    /// Whether a cache operation brings anything nearer.
    [[nodiscard]] virtual bool has_cache() const { return true; }

    /// Called when an operation of the buf has ended, for good or ill (buf.error). The backing may
    /// forgive an error; true asks for another prepare().
    virtual bool more(Buf& buf) {
        (void)buf;
        return false;
    }
};

struct BackingOptions {
    bool direct = false;  // past the page cache
    bool read_only = false;
};

/// Opens `spec`: memory:SIZE, null:SIZE, or the path of a regular file or block device. Throws
/// std::system_error or std::invalid_argument (a SIZE that is none), saying what was wrong.
std::unique_ptr<Backing> open_backing(const std::string& spec, const BackingOptions& options);

/// "64M" as bytes: a positive decimal number and K, M, G or T (powers of 1024), or none. Throws
/// std::invalid_argument.
uint64_t parse_size(const std::string& text);

}  // namespace blkscope
