#include "blockdev/backing/file_holes.hpp"

#include <mutex>

namespace blkscope {

bool FileHoles::punched(uint64_t offset, uint64_t bytes) {
    assert(offset <= size_bytes_ && bytes <= size_bytes_ - offset);
    const std::lock_guard locked(lock_);
    ++punches_;
    const uint64_t end = offset + bytes;
    for (Run& run : runs_) {
        if (run.end <= offset || run.first >= end) continue;
        const Run behind{end, run.end, run.until};
        run.end = std::max(offset, run.first);
        if (behind.first < behind.end) remember(behind);
    }
    punched_bytes_ += bytes;
    if (sparse() || !are_many(punched_bytes_, size_bytes_)) return false;
    punched_bytes_ = 0;
    return true;
}

uint64_t FileHoles::data_from(uint64_t offset, hrtime_t now) {
    if (now >= remembers_until_.load(std::memory_order_relaxed)) return 0;
    const std::lock_guard locked(lock_);
    uint64_t bytes = 0;
    for (const Run& run : runs_) {
        if (run.first <= offset && offset < run.end && now < run.until) {
            bytes = std::max(bytes, run.end - offset);
        }
    }
    return bytes;
}

void FileHoles::found_data(uint64_t first, uint64_t end, hrtime_t began, hrtime_t ended,
                           uint64_t punches_before) {
    assert(first < end);
    if (ended - began <= slow_look_ns) return;
    const std::lock_guard locked(lock_);
    if (punches_ != punches_before) return;
    remember({first, end, ended + (ended - began) * looks_share});
}

void FileHoles::remember(const Run& run) {
    runs_[next_] = run;
    next_ = (next_ + 1) % runs_.size();
    if (run.until > remembers_until_) remembers_until_ = run.until;
}

}  // namespace blkscope
