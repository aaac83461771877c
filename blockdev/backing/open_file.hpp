// OpenFile: a regular file or a block device that has been opened and measured.
//
// Opening and measuring happen once, at start, and use real paths. A FileBacking needs only the
// data of this struct. A simulator can therefore fill it in for a file of its own kernel.
//
// Units:     bytes.
// Ownership: the FileBacking that is constructed from it owns the descriptors.
// Threads:   any.
// Errors:    open_file() throws std::system_error, std::invalid_argument, or std::runtime_error for
//            an image that others use.
// Source:    open(2), stat(2), statx(2) with STATX_DIOALIGN, BLKGETSIZE64, BLKSSZGET.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "blockdev/backing/backing.hpp"
#include "blockdev/backing/image_claim.hpp"

namespace blkscope {

struct OpenFile {
    std::string name;
    int fd = -1;
    /// A second open file description, only for the question after a failed write: has a sync
    /// failed? The kernel reports a failed sync once to each description. -1: there is none.
    int witness = -1;
    /// A third description, with which flushes sync. A failure that a write with FUA got from `fd`
    /// is therefore also reported to a flush. -1: flushes use `fd`.
    int flusher = -1;
    /// A fourth one, only for the question after a flush, or a FUA request that has succeeded. Was another
    /// request told of its failure? -1: there is none.
    int confirmer = -1;
    /// The description that has claimed the disk. Only with this one, fallocate(2) may drop pages that are not
    /// written back. -1: `fd` does.
    int claimed = -1;
    uint64_t size_bytes = 0;
    uint32_t block_bytes = 1;  // offset and length of a request are multiples of this
    uint32_t trim_bytes = 1;   // offset and length of fallocate's ranges are multiples of this
    bool regular = false;
    bool direct = false;
    bool read_only = false;
    bool rotational = false;
    bool trims = true;          // a file: its file system has holes; a disk: it can discard
    bool sparse = false;        // reads look for holes: FileHoles::are_many()
    bool mapping_pays = false;  // writes through a mapping may be cheaper than pwrite(2)
    std::shared_ptr<const ImageClaim> claim = {};  // keeps other writers away; null in simulations
};

/// Opens, measures and claims the file or block device at `path`.
OpenFile open_file(const std::string& path, const BackingOptions& options);

}  // namespace blkscope
