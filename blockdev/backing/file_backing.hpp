// A regular file or a block device, through the page cache or past it.
//
// All operations go through the ring but one: a buffered write to a regular file. ext4 has no
// non-blocking form of it, so the ring hands each to a kernel worker, which costs several times a
// plain pwrite(2). Small ones are therefore written on the spot, by pwrite or by a copy to a mapping,
// as WriteChoice finds cheapest (docs/performance.md). Such a write can stall the worker when the
// kernel throttles dirty pages; --direct never does.
//
// After a failed FUA write, another description of the file tells whether a sync has failed.
//
// Ownership: the file's descriptors and its mapping belong to all backings of one file together.
// Threads:   as Backing; each worker has a backing, and what they share is atomic or locked.
// Errors:    a request's failure is its completion's -errno.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "blockdev/backing/backing.hpp"
#include "blockdev/backing/file_zeroing.hpp"
#include "blockdev/backing/mapped_file.hpp"
#include "blockdev/backing/open_file.hpp"
#include "blockdev/backing/ring_file.hpp"
#include "blockdev/backing/write_choice.hpp"

namespace blkscope {

class FileBacking : public Backing {
  public:
    /// Takes the descriptors over; `kernel` outlives it.
    explicit FileBacking(const OpenFile& file, Kernel& kernel = linux_kernel());

    [[nodiscard]] std::string describe() const override { return is_.name; }
    [[nodiscard]] uint64_t size_bytes() const override { return is_.size_bytes; }
    [[nodiscard]] uint32_t block_bytes() const override { return is_.block_bytes; }
    void attach(Ring& ring) override { on_ring_.attach(ring, kernel_); }
    [[nodiscard]] bool shareable() const override { return true; }
    [[nodiscard]] std::unique_ptr<Backing> another() const override;
    std::optional<int32_t> prepare(Buf& buf) override;
    bool read_now(uint64_t offset, std::span<std::byte> to) override;
    [[nodiscard]] Extent extent_at(uint64_t offset, uint64_t limit) override;
    [[nodiscard]] bool sparse() const override { return file_->holes.sparse; }
    [[nodiscard]] bool rotational() const override { return is_.rotational; }
    [[nodiscard]] bool has_cache() const override { return !is_.direct; }
    bool more(Buf& buf) override;

  private:
    /// What all backings of one file share; the last one closes the file.
    struct File {
        File(const OpenFile& is, Kernel& runs_on);
        ~File();
        File(const File&) = delete;
        File& operator=(const File&) = delete;

        Kernel& kernel;
        const OpenFile open;
        FileHoles holes;
        MappedFile mapped;  // for writes, where mapping pays
    };

    explicit FileBacking(std::shared_ptr<File> file);

    std::optional<int32_t> prepare_write(Buf& buf);
    std::optional<int32_t> write_now(Buf& buf);
    std::optional<int32_t> write_cached(Buf& buf);
    void ring_write_ended(Buf& buf);
    std::optional<int32_t> prepare_cache(Buf& buf);
    std::optional<int32_t> prepare_sync(Buf& buf);
    std::optional<int32_t> sync_by(int description, Buf& buf);
    bool more_of_write(Buf& buf);

    std::shared_ptr<File> file_;
    const OpenFile& is_;  // file_->open
    Kernel& kernel_;      // file_->kernel
    RingFile on_ring_;    // gone before the last owner closes the file
    FileZeroing zeroing_;
    std::optional<WriteChoice> choice_;  // where mapping pays
    hrtime_t ring_write_ended_ = 0;      // the last one
};

}  // namespace blkscope
