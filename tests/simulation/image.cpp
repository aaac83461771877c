#include "image.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>

namespace blkscope::simulation {
namespace {

constexpr Image::Page zero_page{};

// Calls part(page, offset in it, bytes) for each page of a range.
template <class Part>
void by_page(uint64_t at, uint64_t bytes, Part part) {
    while (bytes > 0) {
        const uint64_t in_page = at % page_bytes;
        const uint64_t here = std::min(bytes, page_bytes - in_page);
        part(at / page_bytes, in_page, here);
        at += here;
        bytes -= here;
    }
}

}  // namespace

Image::Image(std::span<const std::byte> content) : bytes_(content.size()) {
    by_page(0, bytes_, [&](uint64_t page, uint64_t, uint64_t bytes) {
        const std::byte* const from = content.data() + page * page_bytes;
        if (std::memcmp(from, zero_page.data(), bytes) == 0) return;
        std::memcpy(pages_[page].data(), from, bytes);
    });
}

void Image::read(uint64_t at, std::span<std::byte> to) const {
    assert(at <= bytes_ && to.size() <= bytes_ - at);
    std::byte* place = to.data();
    by_page(at, to.size(), [&](uint64_t page, uint64_t first, uint64_t bytes) {
        const auto found = pages_.find(page);
        const Page& from = found == pages_.end() ? zero_page : found->second;
        std::memcpy(place, from.data() + first, bytes);
        place += bytes;
    });
}

void Image::write(uint64_t at, std::span<const std::byte> from) {
    assert(at <= bytes_ && from.size() <= bytes_ - at);
    const std::byte* place = from.data();
    by_page(at, from.size(), [&](uint64_t page, uint64_t first, uint64_t bytes) {
        std::memcpy(pages_[page].data() + first, place, bytes);
        place += bytes;
    });
}

void Image::clear(uint64_t at, uint64_t count) {
    assert(at <= bytes_ && count <= bytes_ - at);
    const uint64_t end = at + count;
    auto found = pages_.lower_bound(at / page_bytes);
    while (found != pages_.end() && found->first * page_bytes < end) {
        const uint64_t first = found->first * page_bytes;
        const uint64_t from = std::max(at, first) - first;
        const uint64_t to = std::min(end, first + page_bytes) - first;
        if (to - from == page_bytes) {
            found = pages_.erase(found);
            continue;
        }
        std::memset(found->second.data() + from, 0, to - from);
        ++found;
    }
}

std::span<const std::byte> Image::sector(uint64_t number) const {
    const auto found = pages_.find(number / page_sectors);
    const Page& page = found == pages_.end() ? zero_page : found->second;
    return std::span(page).subspan(number % page_sectors * sector_bytes, sector_bytes);
}

uint64_t Image::next_sector(uint64_t number) const {
    const auto page = pages_.lower_bound(++number / page_sectors);
    const uint64_t end = bytes_ / sector_bytes;
    return page == pages_.end() ? end : std::min(end, std::max(number, page->first * page_sectors));
}

void Image::copy_sector(uint64_t number, const Image& from) {
    const uint64_t page = number / page_sectors;
    if (!from.pages_.contains(page) && !pages_.contains(page)) return;
    write(number * sector_bytes, from.sector(number));
}

void PageRuns::split(uint64_t at) {
    auto run = runs_.lower_bound(at);
    if (run == runs_.begin()) return;
    --run;
    if (run->second <= at) return;
    runs_.emplace(at, run->second);
    run->second = at;
}

void PageRuns::remove(uint64_t first, uint64_t end) {
    if (first >= end) return;
    split(first);
    split(end);
    runs_.erase(runs_.lower_bound(first), runs_.lower_bound(end));
}

void PageRuns::add(uint64_t first, uint64_t end) {
    if (first >= end) return;
    remove(first, end);
    auto run = runs_.emplace(first, end).first;
    if (const auto after = std::next(run); after != runs_.end() && after->first == end) {
        run->second = after->second;
        runs_.erase(after);
    }
    if (run == runs_.begin()) return;
    if (const auto before = std::prev(run); before->second == first) {
        before->second = run->second;
        runs_.erase(run);
    }
}

uint64_t PageRuns::next(uint64_t page, bool present) const {
    auto run = runs_.upper_bound(page);
    const bool inside = run != runs_.begin() && std::prev(run)->second > page;
    if (inside == present) return page;
    if (!present) return std::prev(run)->second;
    return run == runs_.end() ? none : run->first;
}

}  // namespace blkscope::simulation
