// A model of the page cache, and the loads by which WriteChoice and UnmapChoice are tested.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "blockdev/backing/unmap_choice.hpp"
#include "blockdev/backing/write_choice.hpp"

namespace blkscope::page_cache {

inline constexpr uint64_t kib = 1024;
inline constexpr uint64_t page_bytes = 4 * kib;
inline constexpr uint64_t file_bytes = uint64_t{64} << 20;
inline constexpr uint64_t pages_per_range = write_size::range_bytes / page_bytes;
inline constexpr uint64_t never = ~uint64_t{0};

/// A page cache with the costs that were measured on ext4 of Linux 6.18, in nanoseconds.
class Cache {
  public:
    explicit Cache(uint64_t folio_pages, uint64_t size_bytes = file_bytes)
        : folio_pages_(folio_pages), pages_(size_bytes / page_bytes) {}

    int64_t pwrite_ns(uint64_t bytes) const {
        const uint64_t folios = (bytes / page_bytes + folio_pages_ - 1) / folio_pages_;
        const uint64_t walked = std::max(folios * folio_pages_, bytes / page_bytes);
        return static_cast<int64_t>(800 + 1000 * folios + 20 * walked + bytes / 8);
    }
    int64_t copy_ns(uint64_t offset, uint64_t bytes) {
        uint64_t ns = 500 + bytes / 10;
        for (uint64_t page = offset / page_bytes; page < (offset + bytes) / page_bytes; ++page) {
            if (pages_[page] == writable) continue;
            ns += 2000 + 20 * folio_pages_;  // a fault walks the folio
            if (pages_[page] == clean) {
                pages_[page] = writable;
                continue;
            }
            const uint64_t first = page / folio_pages_ * folio_pages_;
            for (uint64_t i = first; i < first + folio_pages_; ++i) pages_[i] = writable;
        }
        return static_cast<int64_t>(ns);
    }
    void write_back() {
        for (char& page : pages_) page = page == writable ? clean : page;
    }
    void unmap(uint64_t offset) {
        const uint64_t first = offset / write_size::range_bytes * pages_per_range;
        std::fill_n(pages_.begin() + static_cast<ptrdiff_t>(first), pages_per_range, unmapped);
    }

  private:
    static constexpr char unmapped = 0, clean = 1, writable = 2;
    uint64_t folio_pages_;
    std::vector<char> pages_;
};

struct Load {
    uint64_t folio_pages;
    uint64_t bytes;
    uint64_t writes;
    uint64_t write_back_every;
};

inline int64_t write(Cache& cache, WriteChoice::Method method, uint64_t at, uint64_t bytes) {
    if (method == WriteChoice::Method::map) return cache.copy_ns(at, bytes);
    return cache.pwrite_ns(bytes) + (method == WriteChoice::Method::ring ? 20'000 : 0);
}

struct Outcome {
    int64_t ns = 0;
    uint64_t unmapped = 0;
};

/// Runs all writes of a load: by `choice`, or without one always by `method`. Ranges are unmapped
/// when an UnmapChoice says so.
inline Outcome run(const Load& load, WriteChoice* choice, WriteChoice::Method method) {
    Cache cache(load.folio_pages);
    UnmapChoice unmap_choice(file_bytes);
    std::mt19937_64 random(7);
    Outcome outcome;
    for (uint64_t i = 1; i <= load.writes; ++i) {
        const uint64_t at = random() % (file_bytes / load.bytes) * load.bytes;
        if (choice != nullptr) method = choice->choose(at, load.bytes);
        const int64_t ns = write(cache, method, at, load.bytes);
        outcome.ns += ns;
        if (choice != nullptr) choice->took(method, at, load.bytes, ns);
        if (method == WriteChoice::Method::map) {
            unmap_choice.copied(at, load.bytes, ns);
            if (unmap_choice.should_unmap(at)) {
                cache.unmap(at);
                unmap_choice.unmapped(at, load.bytes);
                ++outcome.unmapped;
            }
        }
        if (i % load.write_back_every == 0) cache.write_back();
    }
    return outcome;
}

}  // namespace blkscope::page_cache
