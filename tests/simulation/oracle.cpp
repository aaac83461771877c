#include "oracle.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace blkscope::simulation {
namespace {

constexpr uint64_t flushes_between_looks = 4;
constexpr uint64_t page_blocks = 8;  // of 4 KiB, as in the files and in memory

uint64_t word_of(std::span<const std::byte> block) {
    uint64_t word = 0;
    std::memcpy(&word, block.data(), sizeof word);
    return word;
}

bool sets_zeroes(Oracle::Effect effect) {
    return effect != Oracle::Effect::data && effect != Oracle::Effect::content;
}

bool uniform(std::span<const std::byte> block) {
    return std::memcmp(block.data(), block.data() + sizeof(uint64_t),
                       block.size() - sizeof(uint64_t)) == 0;
}

}  // namespace

uint64_t Oracle::word_for(uint64_t block, uint32_t write) const {
    assert(number_of(write) == write && image_ <= image_mask);
    return block << block_shift | image_ << image_shift | write;
}

Oracle::Content::Content(uint32_t its_write, const Image& image) : write(its_write) {
    for (const auto& [page, bytes] : image.pages()) {
        auto& here = words[page];
        for (uint64_t i = 0; i < page_sectors; ++i) {
            here[i] = word_of(std::span(bytes).subspan(i * block_bytes, block_bytes));
        }
    }
}

uint64_t Oracle::Content::word(uint64_t block) const {
    if (words.empty()) return 0;
    const auto page = words.find(block / page_blocks);
    return page == words.end() ? 0 : page->second[block % page_blocks];
}

uint64_t Oracle::Content::next(uint64_t block) const {
    const auto page = words.lower_bound(++block / page_blocks);
    return page == words.end() ? UINT64_MAX : std::max(block, page->first * page_blocks);
}

Oracle::Oracle(const Image& content, uint64_t image)
    : image_(image), of_block_(content.bytes() / block_bytes) {
    assert(content.bytes() % block_bytes == 0);
    contents_.emplace_back(0, content);
    // Surviving blocks have numbers of an earlier boot; new numbers begin after them.
    uint64_t last = 0;
    for (const auto& [page, words] : contents_[0].words) {
        for (const uint64_t word : words) last = std::max(last, number_of(word));
    }
    writes_.resize(last + 1);
    writes_[0] = {0, of_block_.blocks(), Effect::data, true, false, 0, 0, 0};
}

// Up to that block, all behind `block` have no content and the same history.
uint64_t Oracle::next_block(uint64_t block) const {
    uint64_t next = of_block_.next(block);
    for (const Content& content : contents_) next = std::min(next, content.next(block));
    return next;
}

uint32_t Oracle::begin_write(uint64_t at, uint64_t count, Effect effect, hrtime_t now) {
    assert(at % block_bytes == 0 && count % block_bytes == 0);
    assert(at <= bytes() && count <= bytes() - at);
    Write write;
    write.first = at / block_bytes;
    write.end = (at + count) / block_bytes;
    write.effect = effect;
    write.begun = now;
    writes_.push_back(write);
    const auto number = static_cast<uint32_t>(writes_.size() - 1);
    of_block_.add(write.first, write.end, number);
    return number;
}

void Oracle::fill(uint32_t number, std::span<std::byte> to) const {
    const Write& write = writes_.at(number);
    assert(to.size() == (write.end - write.first) * block_bytes);
    std::byte* at = to.data();
    for (uint64_t block = write.first; block < write.end; ++block) {
        const uint64_t word = word_for(block, number);
        for (uint64_t i = 0; i < block_bytes / sizeof word; ++i) {
            std::memcpy(at, &word, sizeof word);
            at += sizeof word;
        }
    }
}

void Oracle::end_write(uint32_t number, bool succeeded, bool stable, hrtime_t now) {
    Write& write = writes_.at(number);
    if (write.lost) return;  // its answer was on the way when the power was lost
    assert(write.ended == never && write.begun <= now);
    write.ended = now;
    write.succeeded = succeeded;
    if (succeeded && stable && promises_) write.stable = now;
}

void Oracle::truncated(uint64_t at, hrtime_t now, bool noticed) {
    assert(truncation_ == 0 && at < bytes());
    truncation_ = begin_write(at, bytes() - at, Effect::maybe_zeroes, now);
    if (noticed) end_write(truncation_, true, false, now);
}

// The content is a write without a request. Writes that are under way may still come after it.
hrtime_t Oracle::came_back(std::span<const std::byte> content, hrtime_t now) {
    const hrtime_t missing = last_missing(content, now);
    take_content(Image(content), Effect::data, now);
    return missing;
}

void Oracle::take_content(const Image& content, Effect effect, hrtime_t now) {
    const uint32_t number = begin_write(0, bytes(), effect, now);
    end_write(number, true, true, now);
    contents_.emplace_back(number, content);
}

hrtime_t Oracle::last_missing(std::span<const std::byte> content, hrtime_t now) const {
    hrtime_t last = 0;
    for (uint64_t block = 0; block < of_block_.blocks(); ++block) {
        const auto data = content.subspan(block * block_bytes, block_bytes);
        if (check_block(block, data, now, now, false).empty()) continue;
        for (const uint32_t number : of_block_.of(block)) {
            const Write& write = writes_[number];
            if (write.succeeded && write.ended < now) last = std::max(last, write.ended);
        }
    }
    return last;
}

std::string Oracle::flushed(hrtime_t since, hrtime_t now) {
    if (Write& cut = writes_.at(truncation_); truncation_ != 0 && since > cut.begun) {
        cut.ended = std::min(cut.ended, now);
    }
    if (!promises_) return {};
    for (Write& write : writes_) {
        if (write.succeeded && write.ended < since) write.stable = std::min(write.stable, now);
    }
    const bool looks = disk_ != nullptr && ++flushes_ % flushes_between_looks == 0;
    return looks ? check_disk(*disk_, now) : "";
}

void Oracle::sync_failed(hrtime_t known_at) {
    promises_ = false;
    known_at_ = std::min(known_at_, known_at);
}

// True if a later write has replaced this one: begun after this one ended, and answered before
// `since`. After a crash the later write must be stable instead.
bool Oracle::over(uint64_t block, const Write& write, hrtime_t since, bool after_crash) const {
    const auto& later = of_block_.of(block);
    return std::any_of(later.rbegin(), later.rend(), [&](uint32_t number) {
        const Write& other = writes_[number];
        if (!other.succeeded || other.effect == Effect::maybe_zeroes) return false;
        if (other.begun <= write.ended) return false;
        return after_crash ? other.stable <= since : other.ended < since;
    });
}

std::string Oracle::check_block(uint64_t block, std::span<const std::byte> data, hrtime_t since,
                                hrtime_t now, bool after_crash) const {
    const std::string where = "block " + std::to_string(block) + ": ";
    if (const uint64_t at = block * block_bytes; at < kept_.size()) {
        const auto kept = std::span(kept_).subspan(at, block_bytes);
        return std::ranges::equal(data, kept) ? "" : where + "changed without a write";
    }
    if (!uniform(data)) return where + "not one value";
    const uint64_t word = word_of(data);
    const auto allowed = [&](const Write& write) {
        return write.begun <= now && !over(block, write, since, after_crash);
    };
    const bool as_it_was = std::ranges::any_of(contents_, [&](const Content& content) {
        return word == content.word(block) && allowed(writes_[content.write]);
    });
    if (as_it_was) return {};
    if (word == 0) {
        const auto& writes = of_block_.of(block);
        const bool zeroed = std::any_of(writes.begin(), writes.end(), [&](uint32_t number) {
            return sets_zeroes(writes_[number].effect) && allowed(writes_[number]);
        });
        return zeroed ? "" : where + "zeroes that were never written, or were overwritten";
    }
    const uint64_t number = number_of(word);
    if (word >> block_shift != block) {
        return where + "has the data of block " + std::to_string(word >> block_shift);
    }
    if ((word >> image_shift & image_mask) != image_) return where + "has data of another image";
    if (number >= writes_.size() || writes_[number].effect != Effect::data ||
        block < writes_[number].first || block >= writes_[number].end) {
        return where + "has data that was never written";
    }
    if (!allowed(writes_[number])) {
        return where + "has write " + std::to_string(number) + ", which is over";
    }
    return {};
}

std::string Oracle::check_read(uint64_t at, std::span<const std::byte> data, hrtime_t since,
                               hrtime_t now) const {
    assert(at % block_bytes == 0 && data.size() % block_bytes == 0);
    for (uint64_t i = 0; i < data.size(); i += block_bytes) {
        std::string wrong =
            check_block((at + i) / block_bytes, data.subspan(i, block_bytes), since, now, false);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

// True if the last word on this block is data or kept zeroes: whatever else was sent ended before that write began.
bool Oracle::is_settled(uint64_t block, hrtime_t since) const {
    const auto& numbers = of_block_.of(block);
    if (numbers.empty()) return false;
    const Write& last = writes_[numbers.back()];
    if (last.effect != Effect::data && last.effect != Effect::kept_zeroes) return false;
    if (!last.succeeded || last.ended >= since) return false;
    return std::all_of(numbers.begin(), numbers.end() - 1,
                       [&](uint32_t number) { return writes_[number].ended < last.begun; });
}

// In a file that was cut nothing is certain: a hole that ends at the new end counts as data.
bool Oracle::is_untouched(uint64_t at) const {
    if (truncation_ != 0) return false;
    const uint64_t first = at / page_bytes * page_blocks;
    const uint64_t end = std::min(first + page_blocks, of_block_.blocks());
    if (first * block_bytes < kept_.size()) return false;
    for (uint64_t i = first; i < end; ++i) {
        if (!of_block_.of(i).empty() || contents_[0].word(i) != 0) return false;
    }
    return true;
}

std::string Oracle::check_status_of(uint64_t block, const Told& told, hrtime_t since,
                                    hrtime_t now) const {
    static constexpr std::array<std::byte, block_bytes> zeroes{};
    const std::string where = "block " + std::to_string(block) + ": ";
    if (told.zero && !check_block(block, zeroes, since, now, false).empty()) {
        return where + "told to be zero, and has data";
    }
    if (told.hole && is_settled(block, since)) return where + "told to be a hole, and is none";
    if (!told.hole && is_untouched(block * block_bytes)) return where + "a hole, told to be data";
    return {};
}

std::string Oracle::check_status(uint64_t at, std::span<const Told> told, hrtime_t since,
                                 hrtime_t now) const {
    for (const Told& extent : told) {
        if (at % block_bytes != 0 || extent.bytes % block_bytes != 0) return "a part of a block";
        const uint64_t end = (at + extent.bytes) / block_bytes;
        for (uint64_t block = at / block_bytes; block < end; block = next_block(block)) {
            std::string wrong = check_status_of(block, extent, since, now);
            if (!wrong.empty()) return wrong;
        }
        at += extent.bytes;
    }
    return {};
}

std::string Oracle::check_end(uint64_t at, const Told& last, hrtime_t since) const {
    const uint64_t block = at / block_bytes;
    const bool goes_on = !last.hole && !last.zero && is_settled(block, since);
    return goes_on ? "data that ends within data, at block " + std::to_string(block) : "";
}

std::string Oracle::check_disk(const Image& disk, hrtime_t now) const {
    assert(disk.bytes() == bytes());
    uint64_t block = 0;
    while (block < of_block_.blocks()) {
        std::string wrong = check_block(block, disk.sector(block), now, now, true);
        if (!wrong.empty()) return wrong;
        block = std::min(next_block(block), disk.next_sector(block));
    }
    return {};
}

}  // namespace blkscope::simulation
