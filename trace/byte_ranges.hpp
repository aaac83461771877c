// ByteRanges: the bytes of requests that are in one state, such as queued but not yet issued.
//
//     requests that were merged:  [ 3 ][ 4 ][ 5 ]     take() all of it: three pieces
//     a request that is split:    [      7      ]     take() the first half: one piece, the rest stays
//
// Where several requests have the same bytes, the oldest one gives them first. A request with exactly
// the bytes that are taken comes before all others.
//
// Units:     bytes.
// Ownership: numbers of requests.
// Threads:   one.
// Errors:    none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace blkscope::trace {

struct ByteRange {
    uint64_t begin = 0;
    uint64_t end = 0;
    auto operator<=>(const ByteRange&) const = default;
};

class ByteRanges {
  public:
    struct Piece {
        ByteRange range;
        size_t request;
    };

    /// Bytes of a request with a higher number are younger.
    void add(const Piece& piece);

    /// Takes what there is of these bytes. What there is not stays in `lacking`.
    std::vector<Piece> take(const ByteRange& wanted, std::vector<ByteRange>& lacking);

    /// The oldest request that has all of these bytes here.
    [[nodiscard]] std::optional<size_t> holder_of(const ByteRange& wanted) const;

    /// Requests that cannot be told apart: they had the same bytes at the same time, and some are left.
    [[nodiscard]] std::vector<size_t> confused() const;

  private:
    using Key = std::tuple<uint64_t, uint64_t, size_t>;  // begin, end, request
    static Key key_of(const Piece& piece) {
        return {piece.range.begin, piece.range.end, piece.request};
    }
    /// The requests of one range since it was last without any, and how many of them are left.
    struct Line {
        std::vector<size_t> all;
        size_t left = 0;
    };

    void remove(const Piece& piece);
    [[nodiscard]] std::vector<Piece> overlapping(const ByteRange& wanted) const;

    std::set<Key> pieces_;
    std::map<ByteRange, Line> lines_;
    uint64_t longest_ = 0;
};

}  // namespace blkscope::trace
