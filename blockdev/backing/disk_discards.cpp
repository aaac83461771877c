#include "blockdev/backing/disk_discards.hpp"

#include <cassert>
#include <cerrno>
#include <system_error>

namespace blkscope {

DiskDiscards::~DiskDiscards() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard locked(mutex_);
        assert(bufs_.empty());
        ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void DiskDiscards::start(Buf& buf, uint64_t unit_bytes) {
    assert(unit_bytes > 0 && (unit_bytes == unit_bytes_ || !thread_.joinable()));
    if (!thread_.joinable()) {
        unit_bytes_ = unit_bytes;
        try {
            thread_ = std::thread(&DiskDiscards::run, this);
        } catch (const std::system_error&) {
            return ring_.completed(buf, -EAGAIN);
        }
    }
    {
        const std::lock_guard locked(mutex_);
        bufs_.push(buf);
    }
    changed_.notify_one();
}

void DiskDiscards::run() {
    std::unique_lock locked(mutex_);
    for (;;) {
        changed_.wait(locked, [&] { return ends_ || !bufs_.empty(); });
        if (ends_) return;
        Buf& buf = bufs_.pop();
        locked.unlock();
        const uint64_t first = (buf.offset + unit_bytes_ - 1) / unit_bytes_ * unit_bytes_;
        const uint64_t end = (buf.offset + buf.bcount) / unit_bytes_ * unit_bytes_;
        assert(first < end);
        ring_.post(buf, ring_.kernel().discard(descriptor_, first, end - first));
        locked.lock();
    }
}

}  // namespace blkscope
