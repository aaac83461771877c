// FileBacking: a regular file or a block device, with or without the page cache.
//
// All operations go through the ring, except buffered writes to a regular file. ext4 cannot do such
// a write without blocking, so the ring hands each to a kernel worker. A hand-over costs several
// times a plain pwrite(2). Small writes are therefore done at once, by pwrite or by a copy to a
// mapping. WriteChoice finds the cheapest method (docs/performance.md), and UnmapChoice unmaps. Such a write can stall the
// worker when the kernel throttles dirty pages. With --direct no write does.
//
// After a failed FUA write, a second description of the file shows whether a sync has failed.
//
// Units:     bytes.
// Ownership: all backings of one file together own its descriptors and its mapping.
// Threads:   as Backing. Each worker has a backing; their shared data is atomic or locked.
// Errors:    a request's failure is its completion's -errno.
// Source:    open(2), pwrite(2), lseek(2), io_uring_prep_fsync(3), posix_fadvise(2).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "blockdev/backing/backing.hpp"
#include "blockdev/backing/file_holes.hpp"
#include "blockdev/backing/file_zeroing.hpp"
#include "blockdev/backing/mapped_file.hpp"
#include "blockdev/backing/open_file.hpp"
#include "blockdev/backing/ring_file.hpp"
#include "blockdev/backing/unmap_choice.hpp"
#include "blockdev/backing/write_choice.hpp"

namespace blkscope {

class FileBacking : public Backing {
  public:
    /// Takes ownership of the descriptors. `kernel` outlives the backing.
    explicit FileBacking(const OpenFile& file, Kernel& kernel = linux_kernel());

    [[nodiscard]] std::string describe() const override { return is_.name; }
    [[nodiscard]] uint64_t size_bytes() const override { return is_.size_bytes; }
    [[nodiscard]] uint32_t block_bytes() const override { return is_.block_bytes; }
    [[nodiscard]] Abilities abilities() const override { return {.trim = is_.trims}; }
    void attach(Ring& ring) override { on_ring_.attach(ring, kernel_); }
    [[nodiscard]] bool shareable() const override { return true; }
    [[nodiscard]] std::unique_ptr<Backing> another() const override;
    std::optional<int32_t> prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;
    bool write_now(uint64_t offset, std::span<const std::byte> from) override;
    [[nodiscard]] Extent extent_at(uint64_t offset, uint64_t limit) override;
    [[nodiscard]] bool sparse() const override;
    [[nodiscard]] bool rotational() const override { return is_.rotational; }
    [[nodiscard]] bool has_cache() const override { return !is_.direct; }
    bool more(Buf& buf) override;

  private:
    /// The data that all backings of one file share. The last backing closes the file.
    struct File {
        File(const OpenFile& is, Kernel& runs_on);
        ~File();
        File& operator=(File&&) = delete;

        Kernel& kernel;
        const OpenFile open;
        FileHoles holes;
        MappedFile mapped;  // for writes, if mapping pays
    };

    explicit FileBacking(std::shared_ptr<File> file);

    std::optional<int32_t> prepare_write(Buf& buf);
    std::optional<int32_t> write_inline(Buf& buf);
    std::optional<int32_t> write_cached(Buf& buf);
    void learn_copy(uint64_t at, uint64_t bytes, int64_t ns);
    void learn_ring_write(Buf& buf);
    std::optional<int32_t> prepare_cache(Buf& buf);
    std::optional<int32_t> prepare_sync(Buf& buf);
    std::optional<int32_t> sync_by(int description, Buf& buf);
    int64_t end_of_data(uint64_t offset);
    bool needs_more(Buf& buf);
    bool more_of_write(Buf& buf);
    void confirm(Buf& buf);

    std::shared_ptr<File> file_;
    const OpenFile& is_;  // file_->open
    Kernel& kernel_;      // file_->kernel
    RingFile on_ring_;    // destroyed before the last owner closes the file
    FileZeroing zeroing_;
    LookCredit look_credit_;
    unsigned data_looks_ = 0;            // that found data at once, since the holes were measured
    std::optional<WriteChoice> choice_;  // if mapping pays
    std::optional<UnmapChoice> unmap_choice_;  // as choice_
    hrtime_t last_ring_write_end_ = 0;         // of the writes that are timed
    hrtime_t full_until_ = 0;  // until then the ring writes; 0: the filesystem has space
};

}  // namespace blkscope
