// Interned: values that are equal, kept once for all that have them.
//
//     /disk/nbd/nbd0/0/read_wait ──┐
//     /disk/nbd/nbd1/0/read_wait ──┼──▶ one description, one shape
//     /disk/nbd/nbd2/0/read_wait ──┘
//
// Ownership: a value lives as long as somebody has it. Nobody changes one: whoever needs another
//            value shares another one.
// Threads:   share() under the caller's lock; what it gives may be read by any thread.
// Errors:    share() throws std::bad_alloc.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

namespace blkscope::kstat2 {

template <class T, class Hash, class Equal = std::equal_to<T>>
class Interned {
  public:
    /// The value that equals `wanted`; `wanted` itself if nobody has one.
    std::shared_ptr<const T> share(T wanted) {
        const size_t hash = Hash()(wanted);
        const auto [first, end] = by_hash_.equal_range(hash);
        for (auto at = first; at != end; ++at) {
            std::shared_ptr<const T> known = at->second.lock();
            if (known != nullptr && Equal()(*known, wanted)) return known;
        }
        if (by_hash_.size() >= sweep_at_) sweep();
        // Not make_shared: the table's weak pointer would then keep the memory of a dead value.
        const std::shared_ptr<const T> made(new T(std::move(wanted)));
        by_hash_.emplace(hash, made);
        assert(by_hash_.size() <= sweep_at_);
        return made;
    }

    /// How many are kept; with them those that died since the last sweep.
    [[nodiscard]] size_t size() const { return by_hash_.size(); }

  private:
    // Removes the dead ones. The table then fills to twice what is left before the next sweep, so
    // sweeping costs each value a constant share.
    void sweep() {
        std::erase_if(by_hash_, [](const auto& known) { return known.second.expired(); });
        sweep_at_ = std::max(sweep_min, 2 * by_hash_.size());
        assert(by_hash_.size() < sweep_at_);
    }

    static constexpr size_t sweep_min = 64;

    std::unordered_multimap<size_t, std::weak_ptr<const T>> by_hash_;
    size_t sweep_at_ = sweep_min;
};

}  // namespace blkscope::kstat2
