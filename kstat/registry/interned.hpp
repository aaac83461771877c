// Interned: equal values, stored once for all their users.
//
//     /disk/nbd/nbd0/0/read_wait ──┐
//     /disk/nbd/nbd1/0/read_wait ──┼──▶ one description, one shape
//     /disk/nbd/nbd2/0/read_wait ──┘
//
// Ownership: a value exists as long as it has a user. A shared value never changes; a user that
//            needs another value shares another one.
// Threads:   share() under the caller's lock; any thread may read the value that it returns.
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
    /// The value that equals `wanted`; `wanted` itself if there is none yet.
    std::shared_ptr<const T> share(T wanted) {
        const size_t hash = Hash()(wanted);
        const auto [first, end] = by_hash_.equal_range(hash);
        for (auto at = first; at != end; ++at) {
            std::shared_ptr<const T> known = at->second.lock();
            if (known != nullptr && Equal()(*known, wanted)) return known;
        }
        if (by_hash_.size() >= sweep_at_) sweep();
        // Not make_shared: the table's weak pointer would then keep the memory of an expired value.
        std::shared_ptr<const T> made(new T(std::move(wanted)));
        by_hash_.emplace(hash, made);
        assert(by_hash_.size() <= sweep_at_);
        return made;
    }

    /// The number of values in the table, including those that expired since the last sweep.
    [[nodiscard]] size_t size() const { return by_hash_.size(); }

  private:
    // Removes the expired values. The next sweep comes when the table has twice the remaining size.
    // Sweeping therefore costs each value a constant share.
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
