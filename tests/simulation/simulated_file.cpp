#include "simulated_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

namespace blkscope::simulation {

SimulatedFile::SimulatedFile(uint64_t bytes) : SimulatedFile(std::vector<std::byte>(bytes)) {}

SimulatedFile::SimulatedFile(std::vector<std::byte> content)
    : cache_(std::move(content)),
      disk_(cache_),
      unsynced_(cache_.size() / sector_bytes),
      allocated_((cache_.size() + page_bytes - 1) / page_bytes),
      length_(cache_.size()) {
    assert(cache_.size() % sector_bytes == 0);
    for (uint64_t page = 0; page < allocated_.size(); ++page) {
        const auto first = cache_.begin() + static_cast<ptrdiff_t>(page * page_bytes);
        const auto end = first + std::min<ptrdiff_t>(page_bytes, cache_.end() - first);
        allocated_[page] = std::any_of(first, end, [](std::byte b) { return b != std::byte{0}; });
    }
}

uint64_t SimulatedFile::read(uint64_t at, std::span<std::byte> to) const {
    if (at >= length_) return 0;
    const uint64_t count = std::min<uint64_t>(to.size(), length_ - at);
    std::memcpy(to.data(), cache_.data() + at, count);
    return count;
}

void SimulatedFile::write(uint64_t at, std::span<const std::byte> from) {
    assert(at <= bytes() && from.size() <= bytes() - at);
    if (from.empty()) return;
    std::memcpy(cache_.data() + at, from.data(), from.size());
    length_ = std::max(length_, at + from.size());
    written(at, from.size());
}

uint64_t SimulatedFile::end_of_last_page() const {
    return (length_ + page_bytes - 1) / page_bytes * page_bytes;
}

bool SimulatedFile::copy(uint64_t at, std::span<const std::byte> from) {
    assert(at <= bytes() && from.size() <= bytes() - at);
    const uint64_t there = at < length_ ? length_ - at : 0;
    write(at, from.first(std::min<uint64_t>(from.size(), there)));
    return at + from.size() <= end_of_last_page();
}

bool SimulatedFile::has_pages(uint64_t at, uint64_t count) const {
    return at + count <= end_of_last_page();
}

void SimulatedFile::truncate(uint64_t length) {
    assert(length % sector_bytes == 0 && length <= length_);
    length_ = length;
    std::fill(cache_.begin() + static_cast<ptrdiff_t>(length), cache_.end(), std::byte{});
    std::fill(disk_.begin() + static_cast<ptrdiff_t>(length), disk_.end(), std::byte{});
    for (uint64_t i = length / sector_bytes; i < sectors(); ++i) unsynced_[i] = false;
    for (uint64_t i = end_of_last_page() / page_bytes; i < allocated_.size(); ++i) {
        allocated_[i] = false;
    }
}

void SimulatedFile::written(uint64_t at, uint64_t count) {
    assert(at <= bytes() && count <= bytes() - at);
    if (count == 0) return;
    for (uint64_t i = at / sector_bytes; i <= (at + count - 1) / sector_bytes; ++i) {
        unsynced_[i] = true;
    }
    for (uint64_t i = at / page_bytes; i <= (at + count - 1) / page_bytes; ++i) {
        allocated_[i] = true;
    }
}

void SimulatedFile::zero(uint64_t at, uint64_t asked, bool leave_hole) {
    assert(at <= bytes() && asked <= bytes() - at);
    const uint64_t count = std::min(asked, std::max(length_, at) - at);
    if (count == 0) return;
    std::memset(cache_.data() + at, 0, count);
    for (uint64_t i = at / sector_bytes; i <= (at + count - 1) / sector_bytes; ++i) {
        unsynced_[i] = true;
    }
    for (uint64_t i = at / page_bytes; i <= (at + count - 1) / page_bytes; ++i) {
        const bool whole = i * page_bytes >= at && (i + 1) * page_bytes <= at + count;
        if (!leave_hole) allocated_[i] = true;
        if (leave_hole && whole) allocated_[i] = false;
    }
}

void SimulatedFile::sync(uint64_t at, uint64_t count) {
    assert(at <= bytes() && count <= bytes() - at);
    if (count == 0) return;
    for (uint64_t i = at / sector_bytes; i <= (at + count - 1) / sector_bytes; ++i) {
        if (!unsynced_[i]) continue;
        unsynced_[i] = false;
        std::memcpy(&disk_[i * sector_bytes], &cache_[i * sector_bytes], sector_bytes);
    }
}

void SimulatedFile::fail_sync(Random& random) {
    ++errors_;
    if (when_sync_failed) when_sync_failed();
    for (uint64_t i = 0; i < sectors(); ++i) {
        if (!unsynced_[i]) continue;
        if (random.one_in(2)) {
            unsynced_[i] = false;  // lost
        } else {
            sync(i * sector_bytes, sector_bytes);
        }
    }
}

void SimulatedFile::write_back_some(Random& random) {
    const uint64_t first = random.below(sectors());
    const uint64_t end = std::min(sectors(), first + random.between(1, 64));
    for (uint64_t i = first; i < end; ++i) sync(i * sector_bytes, sector_bytes);
}

std::vector<std::byte> SimulatedFile::crash(Random& random) const {
    std::vector<std::byte> left = disk_;
    for (uint64_t i = 0; i < sectors(); ++i) {
        if (!unsynced_[i] || random.one_in(2)) continue;
        std::memcpy(&left[i * sector_bytes], &cache_[i * sector_bytes], sector_bytes);
    }
    return left;
}

int64_t SimulatedFile::seek(uint64_t at, int whence) const {
    assert(whence == SEEK_DATA || whence == SEEK_HOLE || (whence == SEEK_END && at == 0));
    if (whence == SEEK_END) return static_cast<int64_t>(length_);
    if (at >= length_) return -ENXIO;
    const bool wanted = whence == SEEK_DATA;
    uint64_t page = at / page_bytes;
    while (page < allocated_.size() && allocated_[page] != wanted) ++page;
    if (page * page_bytes >= length_) return wanted ? -ENXIO : static_cast<int64_t>(length_);
    return static_cast<int64_t>(std::max(at, page * page_bytes));
}

}  // namespace blkscope::simulation
