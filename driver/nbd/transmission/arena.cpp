#include "driver/nbd/transmission/arena.hpp"

#include <bit>
#include <cassert>

#include "base/throw_errno.hpp"

namespace blkscope {
namespace {

constexpr size_t granules_for(size_t bytes) {
    return (bytes + Arena::granule_bytes - 1) / Arena::granule_bytes;
}

constexpr uint64_t low_bits(size_t count) {
    return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// The memory of all classes and of the runs.
template <class Classes>
size_t memory_bytes(const Classes& classes) {
    size_t bytes = Arena::piece_bytes_max;
    for (const auto& c : classes) bytes += c.slot_bytes * c.slots;
    return bytes;
}

}  // namespace

static_assert(Arena::granules == 64, "granules_used_ has a bit for each");

Arena::Arena()
    : classes_{{{4096, 2048, {}}, {32768, 256, {}}, {slot_bytes_max, 256, {}}}},
      memory_(memory_bytes(classes_)) {
    if (memory_.start() == nullptr) throw_errno("reserve memory for requests");
    std::byte* at = memory_.start();
    for (Class& c : classes_) {
        c.free.reserve(c.slots);
        for (size_t i = c.slots; i-- > 0;) c.free.push_back(at + i * c.slot_bytes);
        at += c.slot_bytes * c.slots;
    }
    runs_ = at;
    assert(runs_ + piece_bytes_max == memory_.start() + memory_.size_bytes());
}

Arena::Class* Arena::class_of(size_t bytes) {
    for (Class& c : classes_) {
        if (bytes <= c.slot_bytes) return &c;
    }
    return nullptr;
}

std::byte* Arena::acquire(size_t bytes) {
    assert(bytes > 0 && bytes <= piece_bytes_max);
    std::byte* const piece = acquire_from(bytes);
    if (piece == nullptr) return nullptr;
    ++pieces_out_;
    touched_ = true;
    return piece;
}

std::byte* Arena::acquire_from(size_t bytes) {
    Class* c = class_of(bytes);
    if (c == nullptr) return acquire_run(granules_for(bytes));
    if (c->free.empty()) return nullptr;
    std::byte* piece = c->free.back();
    c->free.pop_back();
    return piece;
}

std::byte* Arena::acquire_run(size_t count) {
    const uint64_t run = low_bits(count);
    assert(count > 0);
    assert(count <= granules);
    for (size_t first = 0; first + count <= granules; ++first) {
        const uint64_t clash = granules_used_ & (run << first);
        if (clash == 0) {
            granules_used_ |= run << first;
            return runs_ + first * granule_bytes;
        }
        // Every run that starts at or before the last used granule would contain it.
        first = 63 - static_cast<size_t>(std::countl_zero(clash));
    }
    return nullptr;
}

void Arena::release(std::byte* piece, size_t bytes) {
    assert(pieces_out_ > 0);
    assert(piece >= memory_.start());
    assert(piece + bytes <= memory_.start() + memory_.size_bytes());
    --pieces_out_;
    if (Class* c = class_of(bytes)) {
        assert(c->free.size() < c->slots);
        c->free.push_back(piece);
        return;
    }
    assert(piece >= runs_);
    const auto first = static_cast<size_t>(piece - runs_) / granule_bytes;
    const uint64_t run = low_bits(granules_for(bytes)) << first;
    assert((granules_used_ & run) == run);
    granules_used_ &= ~run;
    assert(pieces_out_ > 0 || granules_used_ == 0);
}

// If the system refuses, the pages stay resident and nothing else changes.
void Arena::give_back_pages() {
    assert(idle());
    (void)memory_.drop_all();
    touched_ = false;
}

}  // namespace blkscope
