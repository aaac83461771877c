#include "blockdev/model/crash_cache.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "blockdev/model/draws.hpp"
#include "blockdev/model/grammar.hpp"

namespace blkscope::model {
namespace {

// The streams of the cache's draws.
constexpr uint64_t eviction_stream = uint64_t{1} << 33;
constexpr uint64_t crash_stream = eviction_stream + 1;

constexpr uint64_t torn_one_in = 4;  // of the blocks with writes

// A disk may write back at any time. The cache does so before small writes take much more memory
// than their data. A piece has 64 bytes of SIZE, and a block has not more pieces than this.
constexpr uint64_t bytes_per_piece = 64;
constexpr size_t pieces_of_block_max = 256;

// Copies what both ranges have from `from` to `to`.
void copy_common(std::span<std::byte> to, uint64_t to_offset, std::span<const std::byte> from,
                 uint64_t from_offset) {
    const uint64_t begin = std::max(to_offset, from_offset);
    const uint64_t end = std::min(to_offset + to.size(), from_offset + from.size());
    if (begin >= end) return;
    const auto common = from.subspan(begin - from_offset, end - begin);
    std::copy(common.begin(), common.end(), to.begin() + static_cast<int64_t>(begin - to_offset));
}

constexpr std::string_view whole_sectors = "sector=512";
constexpr std::string_view lies = "ignore-flush";

}  // namespace

// ---- The text ----

CrashCacheOptions CrashCacheOptions::parse(std::string_view text) {
    return in_context("crash-cache", text, [&] {
        CrashCacheOptions options;
        const Head size = head_of(text, ',');
        options.size_bytes = parse_bytes(size.part, "SIZE");
        if (options.size_bytes < page_bytes) throw std::invalid_argument("SIZE is less than 4K");
        if (!size.separated) return options;
        for (const std::string_view item : split(size.rest, ',')) options.take_item(item);
        return options;
    });
}

void CrashCacheOptions::take_item(std::string_view item) {
    const bool twice =
        (item == whole_sectors && block_bytes == sector_bytes) || (item == lies && ignores_flush);
    if (twice) throw std::invalid_argument(std::string(item) + " is given twice");
    if (item == whole_sectors) {
        block_bytes = sector_bytes;
    } else if (item == lies) {
        ignores_flush = true;
    } else {
        throw std::invalid_argument("'" + std::string(item) +
                                    "' is neither sector=512 nor ignore-flush");
    }
}

std::string CrashCacheOptions::text() const {
    std::string text = text_of_bytes(size_bytes);
    if (block_bytes == sector_bytes) text += "," + std::string(whole_sectors);
    if (ignores_flush) text += "," + std::string(lies);
    return text;
}

std::string CrashCache::Survival::text() const {
    const auto count = [](uint64_t number) { return std::to_string(number); };
    return count(blocks) + " blocks in the cache: " + count(durable) + " lost all writes, " +
           count(latest) + " kept all, " + count(between) + " kept some, " + count(torn) +
           " are torn";
}

// ---- The cache ----

CrashCache::CrashCache(const CrashCacheOptions& options) : options_(options) {
    assert(options_.block_bytes == CrashCacheOptions::page_bytes ||
           options_.block_bytes == CrashCacheOptions::sector_bytes);
    assert(options_.size_bytes >= options_.block_bytes);
}

// Calls part(block, offset, bytes) for each block of a range.
template <class Part>
void CrashCache::each_part(uint64_t offset, uint64_t bytes, Part part) const {
    const uint64_t end = offset + bytes;
    assert(end >= offset);
    while (offset < end) {
        const uint64_t block = offset / options_.block_bytes;
        const uint64_t here = std::min(end, (block + 1) * options_.block_bytes) - offset;
        part(block, offset, here);
        offset += here;
    }
}

void CrashCache::write(uint64_t offset, std::span<const std::byte> data, bool fua, Medium& medium) {
    if (fua && !options_.ignores_flush) {
        make_durable(offset, data, medium);
        return;
    }
    each_part(offset, data.size(), [&](uint64_t block, uint64_t at, uint64_t bytes) {
        make_room(bytes, medium);
        add(at, data.subspan(at - offset, bytes));
        retire_oldest(blocks_.at(block), medium);
    });
}

// A block without writes must not stay, whatever throws.
void CrashCache::add(uint64_t offset, std::span<const std::byte> data) {
    const uint64_t block = offset / options_.block_bytes;
    assert(block == (offset + data.size() - 1) / options_.block_bytes);
    Piece piece{offset, {data.begin(), data.end()}};
    const auto at = blocks_.find(block);
    if (at != blocks_.end()) {
        at->second.push_back(std::move(piece));
    } else {
        Pieces first;
        first.push_back(std::move(piece));
        blocks_.emplace(block, std::move(first));
    }
    used_bytes_ += data.size();
    ++pieces_;
    assert(used_bytes_ <= options_.size_bytes);
}

void CrashCache::retire_oldest(Pieces& pieces, Medium& medium) {
    assert(pieces.size() <= pieces_of_block_max + 1);
    if (pieces.size() <= pieces_of_block_max) return;
    const Piece& oldest = pieces.front();
    medium.write(oldest.offset, oldest.data);
    used_bytes_ -= oldest.data.size();
    --pieces_;
    pieces.erase(pieces.begin());
}

// Every version of the blocks has the range from now on, so earlier writes can not return in it.
void CrashCache::make_durable(uint64_t offset, std::span<const std::byte> data, Medium& medium) {
    medium.write(offset, data);
    each_part(offset, data.size(), [&](uint64_t block, uint64_t, uint64_t) {
        const auto at = blocks_.find(block);
        if (at == blocks_.end()) return;
        for (Piece& piece : at->second) copy_common(piece.data, piece.offset, data, offset);
    });
}

void CrashCache::make_room(uint64_t bytes, Medium& medium) {
    assert(bytes <= options_.block_bytes);
    const uint64_t pieces_max = options_.size_bytes / bytes_per_piece;
    while (used_bytes_ + bytes > options_.size_bytes || pieces_ >= pieces_max) {
        assert(!blocks_.empty());
        // The first block from a random number on: all have a chance, without a walk over all.
        Draws draws(options_.seed, eviction_stream, evictions_++);
        const uint64_t last = blocks_.rbegin()->first;
        write_back_block(blocks_.lower_bound(draws.below(last + 1)), medium);
    }
}

void CrashCache::write_back_block(Blocks::iterator at, Medium& medium) {
    assert(at != blocks_.end());
    for (const Piece& piece : at->second) {
        medium.write(piece.offset, piece.data);
        assert(used_bytes_ >= piece.data.size());
        used_bytes_ -= piece.data.size();
    }
    assert(pieces_ >= at->second.size());
    pieces_ -= at->second.size();
    blocks_.erase(at);
}

void CrashCache::flush(Medium& medium) {
    if (!options_.ignores_flush) write_back(medium);
}

void CrashCache::write_back(Medium& medium) {
    while (!blocks_.empty()) write_back_block(blocks_.begin(), medium);
    assert(used_bytes_ == 0 && pieces_ == 0);
}

CrashCache::Survival CrashCache::crash(Medium& medium) {
    Survival survival;
    for (const auto& [block, pieces] : blocks_) lose_power(block, pieces, medium, survival);
    blocks_.clear();
    used_bytes_ = 0;
    pieces_ = 0;
    ++crashes_;
    return survival;
}

// Writes the version of one block that survives.
void CrashCache::lose_power(uint64_t block, const Pieces& pieces, Medium& medium,
                            Survival& survival) {
    assert(!pieces.empty());
    Draws draws(options_.seed, crash_stream + crashes_, block);
    const uint64_t sectors = options_.block_bytes / CrashCacheOptions::sector_bytes;
    uint64_t version = draws.below(pieces.size() + 1);
    uint64_t older = version;  // of the sectors behind the tear
    uint64_t tear = sectors;
    if (sectors > 1 && draws.below(torn_one_in) == 0) {
        version = 1 + draws.below(pieces.size());
        older = draws.below(version);
        tear = 1 + draws.below(sectors - 1);
    }
    const uint64_t tear_offset =
        block * options_.block_bytes + tear * CrashCacheOptions::sector_bytes;
    for (uint64_t i = 0; i < version; ++i) {
        const Piece& piece = pieces[i];
        const uint64_t end = i < older ? piece.end() : std::min(piece.end(), tear_offset);
        if (end <= piece.offset) continue;
        medium.write(piece.offset, std::span(piece.data).first(end - piece.offset));
    }
    // If all these pieces are on one side of the tear, a version is whole.
    const auto divided = std::span(pieces).subspan(older, version - older);
    const auto begins_before = [&](const Piece& piece) { return piece.offset < tear_offset; };
    const auto ends_behind = [&](const Piece& piece) { return piece.end() > tear_offset; };
    if (std::ranges::none_of(divided, ends_behind)) older = version;
    if (std::ranges::none_of(divided, begins_before)) version = older;
    ++survival.blocks;
    if (older != version) {
        ++survival.torn;
    } else if (version == 0) {
        ++survival.durable;
    } else if (version == pieces.size()) {
        ++survival.latest;
    } else {
        ++survival.between;
    }
}

void CrashCache::overlay(uint64_t offset, std::span<std::byte> data) const {
    each_part(offset, data.size(), [&](uint64_t block, uint64_t, uint64_t) {
        const auto at = blocks_.find(block);
        if (at == blocks_.end()) return;
        for (const Piece& piece : at->second) copy_common(data, offset, piece.data, piece.offset);
    });
}

// Parts of a block count as the whole block.
uint64_t CrashCache::bytes_to_cached(uint64_t offset, uint64_t bytes) const {
    const auto at = blocks_.lower_bound(offset / options_.block_bytes);
    if (at == blocks_.end()) return bytes;
    const uint64_t begin = at->first * options_.block_bytes;
    return begin <= offset ? 0 : std::min(bytes, begin - offset);
}

}  // namespace blkscope::model
