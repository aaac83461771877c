#include "simulated_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <iterator>
#include <vector>

namespace blkscope::simulation {

SimulatedFile::SimulatedFile(const Image& content)
    : cache_(content), disk_(content), length_(content.bytes()) {
    assert(bytes() % sector_bytes == 0);
    for (const auto& [page, data] : content.pages()) {
        const bool hole = std::ranges::all_of(data, [](std::byte b) { return b == std::byte{0}; });
        if (!hole) allocated_.add(page, page + 1);
    }
}

uint64_t SimulatedFile::read(uint64_t at, std::span<std::byte> to) const {
    if (at >= length_) return 0;
    const uint64_t count = std::min<uint64_t>(to.size(), length_ - at);
    cache_.read(at, to.first(count));
    return count;
}

void SimulatedFile::write(uint64_t at, std::span<const std::byte> from) {
    assert(at <= bytes() && from.size() <= bytes() - at);
    if (from.empty()) return;
    cache_.write(at, from);
    length_ = std::max(length_, at + from.size());
    mark(at, from.size());
    allocated_.add(at / page_bytes, (at + from.size() - 1) / page_bytes + 1);
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

std::vector<std::function<void()>> SimulatedFile::let_go() {
    hangs_one_in_ = 0;
    return std::exchange(held_, {});
}

void SimulatedFile::advise(uint64_t at, uint64_t count) {
    advised_.add(at / page_bytes, (at + count + page_bytes - 1) / page_bytes);
}

bool SimulatedFile::was_advised(uint64_t at, uint64_t count) const {
    assert(count > 0);
    return advised_.next(at / page_bytes, false) * page_bytes >= at + count;
}

void SimulatedFile::truncate(uint64_t length) {
    assert(length % sector_bytes == 0 && length <= length_);
    length_ = length;
    cache_.clear(length, bytes() - length);
    disk_.clear(length, bytes() - length);
    const uint64_t page = length / page_bytes;
    const uint64_t kept = length % page_bytes / sector_bytes;
    unsynced_.erase(unsynced_.lower_bound(kept > 0 ? page + 1 : page), unsynced_.end());
    if (const auto last = unsynced_.find(page); last != unsynced_.end()) {
        last->second &= static_cast<uint8_t>((1U << kept) - 1);
        if (last->second == 0) unsynced_.erase(last);
    }
    allocated_.remove(end_of_last_page() / page_bytes, PageRuns::none);
}

// The sectors of the range are to be synced.
void SimulatedFile::mark(uint64_t at, uint64_t count) {
    assert(at <= bytes() && count <= bytes() - at && count > 0);
    for (uint64_t i = at / sector_bytes; i <= (at + count - 1) / sector_bytes; ++i) {
        unsynced_[i / page_sectors] |= static_cast<uint8_t>(1U << i % page_sectors);
    }
}

void SimulatedFile::mark_pages_of(const Image& image, uint64_t at, uint64_t count) {
    const auto& pages = image.pages();
    auto page = pages.lower_bound(at / page_bytes);
    for (; page != pages.end() && page->first * page_bytes < at + count; ++page) {
        const uint64_t first = std::max(at, page->first * page_bytes);
        mark(first, std::min(at + count, (page->first + 1) * page_bytes) - first);
    }
}

void SimulatedFile::zero(uint64_t at, uint64_t asked, bool leave_hole) {
    assert(at <= bytes() && asked <= bytes() - at);
    const uint64_t count = std::min(asked, std::max(length_, at) - at);
    if (count == 0) return;
    if (count <= mark_bytes_max) {
        mark(at, count);
    } else {
        mark_pages_of(cache_, at, count);
        mark_pages_of(disk_, at, count);
    }
    cache_.clear(at, count);
    const uint64_t end = at + count;
    if (leave_hole) {
        allocated_.remove((at + page_bytes - 1) / page_bytes, end / page_bytes);
    } else {
        allocated_.add(at / page_bytes, (end - 1) / page_bytes + 1);
    }
}

void SimulatedFile::sync(uint64_t at, uint64_t count) {
    assert(at <= bytes() && count <= bytes() - at);
    if (count == 0) return;
    const uint64_t end = (at + count - 1) / sector_bytes + 1;
    auto page = unsynced_.lower_bound(at / page_bytes);
    while (page != unsynced_.end() && page->first * page_sectors < end) {
        for (uint64_t i = 0; i < page_sectors; ++i) {
            const uint64_t sector = page->first * page_sectors + i;
            const auto bit = static_cast<uint8_t>(1U << i);
            if (sector < at / sector_bytes || sector >= end || (page->second & bit) == 0) continue;
            page->second &= static_cast<uint8_t>(~bit);
            disk_.copy_sector(sector, cache_);
        }
        page = page->second == 0 ? unsynced_.erase(page) : std::next(page);
    }
}

// In order of the sectors.
template <class Call>
void SimulatedFile::each_unsynced(Call call) const {
    for (const auto& [page, bits] : unsynced_) {
        for (uint64_t i = 0; i < page_sectors; ++i) {
            if ((bits >> i & 1U) != 0) call(page * page_sectors + i);
        }
    }
}

void SimulatedFile::fail_sync(Random& random) {
    ++errors_;
    if (when_sync_failed) when_sync_failed();
    std::vector<uint64_t> written;
    each_unsynced([&](uint64_t sector) {
        if (!random.one_in(2)) written.push_back(sector);
    });
    for (const uint64_t sector : written) disk_.copy_sector(sector, cache_);
    unsynced_.clear();  // the others are lost
}

// In a file of many gigabytes, of its unsynced pages.
void SimulatedFile::write_back_some(Random& random) {
    uint64_t first = 0;
    if (is_wide()) {
        if (unsynced_.empty()) return;
        const auto skipped = static_cast<ptrdiff_t>(random.below(unsynced_.size()));
        first = std::next(unsynced_.begin(), skipped)->first * page_sectors;
    } else {
        first = random.below(sectors());
    }
    const uint64_t end = std::min(sectors(), first + random.between(1, 64));
    sync(first * sector_bytes, (end - first) * sector_bytes);
}

Image SimulatedFile::crash(Random& random) const {
    Image left = disk_;
    each_unsynced([&](uint64_t sector) {
        if (!random.one_in(2)) left.copy_sector(sector, cache_);
    });
    return left;
}

int64_t SimulatedFile::seek(uint64_t at, int whence) const {
    assert(whence == SEEK_DATA || whence == SEEK_HOLE || (whence == SEEK_END && at == 0));
    if (whence == SEEK_END) return static_cast<int64_t>(length_);
    if (at >= length_) return -ENXIO;
    const bool wanted = whence == SEEK_DATA;
    const uint64_t page = allocated_.next(at / page_bytes, wanted);
    if (page == PageRuns::none || page * page_bytes >= length_) {
        return wanted ? -ENXIO : static_cast<int64_t>(length_);
    }
    return static_cast<int64_t>(std::max(at, page * page_bytes));
}

}  // namespace blkscope::simulation
