#include "trace/byte_ranges.hpp"

#include <algorithm>
#include <cassert>

namespace blkscope::trace {

void ByteRanges::add(const Piece& piece) {
    assert(piece.range.begin < piece.range.end);
    if (!pieces_.insert(key_of(piece)).second) return;
    longest_ = std::max(longest_, piece.range.end - piece.range.begin);
    Line& line = lines_[piece.range];
    line.all.push_back(piece.request);
    ++line.left;
}

void ByteRanges::remove(const Piece& piece) {
    pieces_.erase(key_of(piece));
    const auto line = lines_.find(piece.range);
    assert(line != lines_.end() && line->second.left > 0);
    if (--line->second.left == 0) lines_.erase(line);
}

std::vector<ByteRanges::Piece> ByteRanges::overlapping(const ByteRange& wanted) const {
    std::vector<Piece> found;
    const uint64_t from = wanted.begin - std::min(wanted.begin, longest_);
    for (auto at = pieces_.lower_bound({from, 0, 0}); at != pieces_.end(); ++at) {
        const auto& [begin, end, request] = *at;
        if (begin >= wanted.end) break;
        if (end > wanted.begin) found.push_back({{begin, end}, request});
    }
    std::ranges::sort(found, {}, &Piece::request);
    return found;
}

std::vector<ByteRanges::Piece> ByteRanges::take(const ByteRange& wanted,
                                                std::vector<ByteRange>& lacking) {
    const auto exact = pieces_.lower_bound({wanted.begin, wanted.end, 0});
    if (exact != pieces_.end() && std::get<0>(*exact) == wanted.begin &&
        std::get<1>(*exact) == wanted.end) {
        const Piece piece{wanted, std::get<2>(*exact)};
        remove(piece);
        return {piece};
    }
    std::vector<Piece> taken;
    std::vector<ByteRange> open{wanted};
    for (const Piece& piece : overlapping(wanted)) {
        std::vector<ByteRange> still_open;
        std::vector<ByteRange> left{piece.range};
        for (const ByteRange& range : open) {
            const ByteRange common{std::max(range.begin, piece.range.begin),
                                   std::min(range.end, piece.range.end)};
            if (common.begin >= common.end) {
                still_open.push_back(range);
                continue;
            }
            taken.push_back({common, piece.request});
            if (range.begin < common.begin) still_open.push_back({range.begin, common.begin});
            if (common.end < range.end) still_open.push_back({common.end, range.end});
            const ByteRange last = left.back();
            left.pop_back();
            if (last.begin < common.begin) left.push_back({last.begin, common.begin});
            if (common.end < last.end) left.push_back({common.end, last.end});
        }
        open = std::move(still_open);
        if (left.size() == 1 && left.front() == piece.range) continue;
        remove(piece);
        for (const ByteRange& range : left) add({range, piece.request});
    }
    lacking.insert(lacking.end(), open.begin(), open.end());
    return taken;
}

std::optional<size_t> ByteRanges::holder_of(const ByteRange& wanted) const {
    for (const Piece& piece : overlapping(wanted)) {
        if (piece.range.begin <= wanted.begin && wanted.end <= piece.range.end)
            return piece.request;
    }
    return {};
}

std::vector<size_t> ByteRanges::confused() const {
    std::vector<size_t> requests;
    for (const auto& [range, line] : lines_) {
        if (line.left == line.all.size()) continue;
        requests.insert(requests.end(), line.all.begin(), line.all.end());
    }
    return requests;
}

}  // namespace blkscope::trace
