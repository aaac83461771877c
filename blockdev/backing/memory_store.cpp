#include "blockdev/backing/memory_store.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "base/throw_errno.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

// The pages of the page map. The system's pages may be larger. The kernel then refuses
// MADV_DONTNEED for a range that is not aligned to them, and zeroes are written instead.
constexpr uint64_t page_bytes = 4096;

constexpr uint64_t look_up_bytes_max = uint64_t{16} << 30;  // far less than a millisecond

std::byte* reserved(const ZeroedPages& pages) {
    if (pages.start() == nullptr) {
        throw_errno("reserve " + std::to_string(pages.size_bytes()) + " bytes of memory");
    }
    return pages.start();
}

}  // namespace

MemoryStore::MemoryStore(uint64_t size_bytes)
    : size_bytes_(size_bytes),
      pages_(size_bytes),
      memory_(reserved(pages_)),
      written_((size_bytes + page_bytes - 1) / page_bytes) {
    // Two stripes never share a word of the page map.
    static_assert(Stripes::stripe_bytes % (page_bytes * PageSet::word_bits) == 0);
    assert(size_bytes > 0);
}

// Calls move(at, bytes) for each part of the range within one stripe, with that stripe locked.
template <class Move>
void MemoryStore::by_stripe(uint64_t offset, uint64_t bytes, Move move) {
    assert(offset <= size_bytes_);
    assert(bytes <= size_bytes_ - offset);
    while (bytes > 0) {
        const uint64_t part =
            std::min(bytes, Stripes::stripe_bytes - offset % Stripes::stripe_bytes);
        const auto locked = stripes_.lock(offset, part);
        move(offset, part);
        offset += part;
        bytes -= part;
    }
}

void MemoryStore::read(uint64_t offset, std::span<std::byte> to) {
    by_stripe(offset, to.size(), [&](uint64_t at, uint64_t bytes) {
        std::memcpy(to.data() + (at - offset), memory_ + at, bytes);
    });
}

void MemoryStore::write(uint64_t offset, std::span<const std::byte> from) {
    by_stripe(offset, from.size(), [&](uint64_t at, uint64_t bytes) {
        std::memcpy(memory_ + at, from.data() + (at - offset), bytes);
        written_.add(at / page_bytes, (at + bytes - 1) / page_bytes + 1);
    });
}

void MemoryStore::fill(uint64_t offset, uint64_t bytes) {
    by_stripe(offset, bytes, [&](uint64_t at, uint64_t part) {
        std::memset(memory_ + at, 0, part);
        written_.add(at / page_bytes, (at + part - 1) / page_bytes + 1);
    });
}

// Removes whole pages, and clears the parts of pages at both ends.
void MemoryStore::empty(uint64_t offset, uint64_t bytes) {
    assert(bytes <= empty_bytes_max);
    assert(bytes <= size_bytes_ - offset);
    const uint64_t end = offset + bytes;
    const uint64_t first_page = (offset + page_bytes - 1) / page_bytes * page_bytes;
    const uint64_t last_page = end / page_bytes * page_bytes;
    if (first_page >= last_page) return clear_part(offset, bytes);
    clear_part(offset, first_page - offset);
    if (!planted("zeroes-tail-kept")) clear_part(last_page, end - last_page);
    give_back(first_page, last_page - first_page);
}

void MemoryStore::give_back(uint64_t first, uint64_t bytes) {
    assert(first % page_bytes == 0);
    assert(bytes % page_bytes == 0);
    assert(first <= size_bytes_);
    assert(bytes <= size_bytes_ - first);
    {
        const auto locked = stripes_.lock(first, bytes);
        if (pages_.drop(first, bytes)) {
            return written_.remove(first / page_bytes, (first + bytes) / page_bytes);
        }
    }
    fill(first, bytes);
}

// Clears less than a page, or parts of two. A page that was never written must not become resident.
void MemoryStore::clear_part(uint64_t offset, uint64_t bytes) {
    assert(bytes < 2 * page_bytes);
    while (bytes > 0) {
        const uint64_t part = std::min(bytes, page_bytes - offset % page_bytes);
        by_stripe(offset, part, [&](uint64_t at, uint64_t count) {
            if (written_.contains(at / page_bytes)) std::memset(memory_ + at, 0, count);
        });
        offset += part;
        bytes -= part;
    }
}

Extent MemoryStore::extent_at(uint64_t offset, uint64_t limit) const {
    assert(limit > 0);
    assert(offset < size_bytes_);
    assert(limit <= size_bytes_ - offset);
    const uint64_t bytes = std::min(limit, look_up_bytes_max);
    const uint64_t first = offset / page_bytes;
    const uint64_t end = (offset + bytes + page_bytes - 1) / page_bytes;
    const PageSet::Run run = written_.run(first, end);
    return {std::min((first + run.pages) * page_bytes - offset, bytes), !run.present};
}

}  // namespace blkscope
