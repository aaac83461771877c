// FileZeroing: how a file gets zeroes or holes, by the best method of its file system.
//
//     punch        fallocate(2), leaves a hole         trim, and zeroes without provisioning
//     zero_range   fallocate(2), the range stays       zeroes that must stay provisioned
//     write        from memory that is all zeroes      parts that are no whole block, and the rest
//
// A disk is trimmed by DiskDiscards: FALLOC_FL_PUNCH_HOLE would write zeroes there, or be refused.
//
// If the file system has no such method, no backing of the file tries it again. If it refuses one for this range or for
// now (unsupported.hpp), only this request is done by other means. An example is a disk that another program has
// claimed, with data that is not written back. The same is true for a range behind the end of a file that has been
// shortened.
//
// Units:     bytes.
// Ownership: borrows the constructor's arguments, which belong to the backing and its file.
// Threads:   as Backing. FileHoles is atomic, because all backings of one file share it.
// Errors:    a request's failure is its completion's -errno.
// Source:    fallocate(2), BLKDISCARD.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>

#include "blockdev/backing/disk_discards.hpp"
#include "blockdev/backing/file_holes.hpp"
#include "blockdev/backing/open_file.hpp"
#include "blockdev/backing/ring_file.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class FileZeroing {
  public:
    FileZeroing(const OpenFile& file, FileHoles& holes, RingFile& on_ring)
        : is_(file), holes_(holes), on_ring_(on_ring) {
        assert(is_.trim_bytes > 0);
    }

    // Both have the contract of Backing::prepare(), for the first step of a trim or write_zeroes.
    std::optional<int32_t> prepare_trim(Buf& buf);
    std::optional<int32_t> prepare_zeroes(Buf& buf);

    /// An operation of the first step has ended. True if another method must be tried.
    bool more(Buf& buf) {
        assert(buf.discards());
        return buf.op == Buf::Op::trim ? more_of_trim(buf) : more_of_zeroes(buf);
    }

  private:
    /// The methods to make zeroes, best first.
    enum class Method : uint8_t { punch, zero_range, write, none };

    [[nodiscard]] Method method_for(const Buf& buf) const;
    std::optional<int32_t> prepare_fallocate(Buf& buf, int mode, uint64_t at, uint64_t bytes);
    std::optional<int32_t> zero_blocks(Buf& buf, int mode);
    bool more_of_trim(Buf& buf);
    bool more_of_zeroes(Buf& buf);
    [[nodiscard]] bool ends_before(const Buf& buf) const;
    bool write_them(Buf& buf) const;
    void forget(Method method);
    void note_hole(const Buf& buf);

    const OpenFile& is_;
    FileHoles& holes_;
    RingFile& on_ring_;
    std::optional<DiskDiscards> discards_;  // of a disk, from its first trim on
};

}  // namespace blkscope
