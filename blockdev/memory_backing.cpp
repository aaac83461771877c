#include "blockdev/memory_backing.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace blkscope {
namespace {

// The pages of the page map. Those of the system may be larger: MADV_DONTNEED is refused then for a
// range that does not suit it, and the range is written with zeroes instead.
constexpr uint64_t page_bytes = 4096;

// What one turn zeroes, and what one look-up goes through: about a millisecond, and far less.
constexpr uint64_t zero_share_bytes = uint64_t{8} << 20;
constexpr uint64_t look_up_bytes_max = uint64_t{16} << 30;

}  // namespace

MemoryBacking::MemoryBacking(uint64_t size_bytes)
    : size_bytes_(size_bytes), written_((size_bytes + page_bytes - 1) / page_bytes) {
    void* memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::system_error(errno, std::generic_category(),
                                "reserve " + std::to_string(size_bytes) + " bytes of memory");
    }
    memory_ = static_cast<std::byte*>(memory);
}

MemoryBacking::~MemoryBacking() {
    munmap(memory_, size_bytes_);
}

void MemoryBacking::prepare(Buf& buf) {
    switch (buf.op) {
        case Buf::Op::read:
            std::memcpy(buf.data, memory_ + buf.offset, buf.bcount);
            return ring_->completed(buf, static_cast<int32_t>(buf.bcount));
        case Buf::Op::write:
            write(buf.offset, {buf.data, buf.bcount});
            return ring_->completed(buf, static_cast<int32_t>(buf.bcount));
        case Buf::Op::trim:
        case Buf::Op::write_zeroes:
            return zero(buf);
        case Buf::Op::flush:
        case Buf::Op::cache:
        case Buf::Op::block_status:
            return ring_->completed(buf, 0);
    }
}

bool MemoryBacking::read_now(uint64_t offset, std::span<std::byte> to) {
    if (offset > size_bytes_ || to.size() > size_bytes_ - offset) return false;
    std::memcpy(to.data(), memory_ + offset, to.size());
    return true;
}

void MemoryBacking::write(uint64_t offset, std::span<const std::byte> data) {
    if (data.empty()) return;
    std::memcpy(memory_ + offset, data.data(), data.size());
    written_.add(offset / page_bytes, (offset + data.size() - 1) / page_bytes + 1);
}

Extent MemoryBacking::extent_at(uint64_t offset, uint64_t limit) {
    const uint64_t bytes = std::min(limit, look_up_bytes_max);
    const uint64_t first = offset / page_bytes;
    const uint64_t end = (offset + bytes + page_bytes - 1) / page_bytes;
    const uint64_t run_end = (first + written_.run(first, end)) * page_bytes;
    return {std::min(run_end - offset, bytes), !written_.contains(first)};
}

// A share of it, and the rest in the turns to come: millions of pages are not touched in one go.
void MemoryBacking::zero(Buf& buf) {
    const uint64_t offset = buf.offset + buf.moved();
    const uint64_t share_end = (offset / zero_share_bytes + 1) * zero_share_bytes;
    buf.covers = std::min(buf.resid, share_end - offset);
    if (buf.no_hole) {
        fill(offset, buf.covers);
    } else {
        empty(offset, buf.covers);
    }
    if (buf.covers < buf.resid) return ring_->completed_later(buf, 0);
    ring_->completed(buf, 0);
}

void MemoryBacking::fill(uint64_t offset, uint64_t bytes) {
    if (bytes == 0) return;
    std::memset(memory_ + offset, 0, bytes);
    written_.add(offset / page_bytes, (offset + bytes - 1) / page_bytes + 1);
}

// Gives whole pages back to the system; what is left at the edges is cleared.
void MemoryBacking::empty(uint64_t offset, uint64_t bytes) {
    const uint64_t end = offset + bytes;
    const uint64_t first_page = (offset + page_bytes - 1) / page_bytes * page_bytes;
    const uint64_t last_page = end / page_bytes * page_bytes;
    if (first_page >= last_page) return clear_part(offset, bytes);
    clear_part(offset, first_page - offset);
    clear_part(last_page, end - last_page);
    if (madvise(memory_ + first_page, last_page - first_page, MADV_DONTNEED) != 0) {
        return fill(first_page, last_page - first_page);
    }
    written_.remove(first_page / page_bytes, last_page / page_bytes);
}

// Less than a page, or parts of two: one that was never written to is not made resident for it.
void MemoryBacking::clear_part(uint64_t offset, uint64_t bytes) {
    while (bytes > 0) {
        const uint64_t part = std::min(bytes, page_bytes - offset % page_bytes);
        if (written_.contains(offset / page_bytes)) std::memset(memory_ + offset, 0, part);
        offset += part;
        bytes -= part;
    }
}

void NullBacking::prepare(Buf& buf) {
    const bool transfer = buf.in_queues();
    if (buf.op == Buf::Op::read) std::memset(buf.data, 0, buf.bcount);
    ring_->completed(buf, transfer ? static_cast<int32_t>(buf.bcount) : 0);
}

bool NullBacking::read_now(uint64_t, std::span<std::byte> to) {
    std::ranges::fill(to, std::byte{0});
    return true;
}

}  // namespace blkscope
