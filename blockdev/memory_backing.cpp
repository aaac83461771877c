#include "blockdev/memory_backing.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace blkscope {

MemoryBacking::MemoryBacking(uint64_t size_bytes) : size_bytes_(size_bytes) {
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
            std::memcpy(memory_ + buf.offset, buf.data, buf.bcount);
            return ring_->completed(buf, static_cast<int32_t>(buf.bcount));
        case Buf::Op::flush:
            return ring_->completed(buf, 0);
        case Buf::Op::trim:
            trim(buf.offset, buf.bcount);
            return ring_->completed(buf, 0);
    }
}

bool MemoryBacking::read_now(uint64_t offset, std::span<std::byte> to) {
    if (offset > size_bytes_ || to.size() > size_bytes_ - offset) return false;
    std::memcpy(to.data(), memory_ + offset, to.size());
    return true;
}

// Gives whole pages back to the system; what is left at the edges is cleared.
void MemoryBacking::trim(uint64_t offset, uint64_t bytes) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t end = offset + bytes;
    const uint64_t first_page = (offset + page - 1) / page * page;
    const uint64_t last_page = end / page * page;
    if (first_page >= last_page) {
        std::memset(memory_ + offset, 0, bytes);
        return;
    }
    std::memset(memory_ + offset, 0, first_page - offset);
    std::memset(memory_ + last_page, 0, end - last_page);
    if (madvise(memory_ + first_page, last_page - first_page, MADV_DONTNEED) != 0) {
        std::memset(memory_ + first_page, 0, last_page - first_page);
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
