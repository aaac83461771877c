#include "driver/nbd/transmission/arena.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace blkscope {
namespace {

constexpr size_t mib = size_t{1} << 20;

TEST(Arena, PiecesArePageAligned) {
    Arena arena;
    for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{5000}, size_t{131072}, 3 * mib}) {
        std::byte* piece = arena.acquire(bytes);
        ASSERT_NE(piece, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 4096, 0u);
        arena.release(piece, bytes);
    }
}

TEST(Arena, TheLargestPieceIsAllOfTheLargestClass) {
    Arena arena;
    std::byte* all = arena.acquire(Arena::piece_bytes_max);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(arena.acquire(mib), nullptr);
    EXPECT_NE(arena.acquire(Arena::slot_bytes_max), nullptr);  // small pieces are not affected
    arena.release(all, Arena::piece_bytes_max);
    EXPECT_NE(arena.acquire(mib), nullptr);
}

TEST(Arena, AUsedUpClassGivesNothingUntilSomethingIsGivenBack) {
    Arena arena;
    std::vector<std::byte*> pieces;
    while (std::byte* piece = arena.acquire(4096)) pieces.push_back(piece);
    ASSERT_FALSE(pieces.empty());
    arena.release(pieces.back(), 4096);
    EXPECT_EQ(arena.acquire(100), pieces.back());
    EXPECT_EQ(arena.acquire(100), nullptr);
}

// A random order of acquire() and release() never makes two lent pieces overlap.
TEST(Arena, PiecesThatAreOutNeverOverlap) {
    Arena arena;
    std::mt19937 random(20261121);
    std::map<std::byte*, size_t> out;
    for (int i = 0; i < 20'000; ++i) {
        if (out.empty() || random() % 2 == 0) {
            const size_t bytes =
                random() % 4 == 0 ? 1 + random() % (8 * mib) : 1 + random() % 262144;
            std::byte* piece = arena.acquire(bytes);
            if (piece == nullptr) continue;
            const auto after = out.lower_bound(piece);
            if (after != out.end()) {
                ASSERT_LE(piece + bytes, after->first);
            }
            if (after != out.begin()) {
                ASSERT_LE(std::prev(after)->first + std::prev(after)->second, piece);
            }
            out[piece] = bytes;
        } else {
            auto victim = out.begin();
            std::advance(victim, static_cast<long>(random() % out.size()));
            arena.release(victim->first, victim->second);
            out.erase(victim);
        }
    }
}

}  // namespace
}  // namespace blkscope
