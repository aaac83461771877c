#include "blockdev/ring/posted.hpp"

#include <stdexcept>
#include <system_error>

#include "blockdev/ring/planted.hpp"

namespace blkscope {

Posted::Posted(Kernel& kernel) : kernel_(kernel), event_(kernel.open_event()) {
    if (event_ < 0) {
        throw std::runtime_error("eventfd: " + std::generic_category().message(-event_));
    }
}

Posted::~Posted() {
    kernel_.close(event_);
}

void Posted::post(Completion& completion, int32_t result) {
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        first = list_.empty();
        list_.append(completion, result);
        any_.store(true, std::memory_order_release);
    }
    // For a later completion the worker is already awake, or its wake-up is on the way.
    if (first && !planted("wake-up-lost")) wake();
}

void Posted::watch(io_uring_sqe& entry) {
    assert(!watched_);
    watched_ = true;
    io_uring_prep_read(&entry, event_, &count_, sizeof count_, 0);
    io_uring_sqe_set_data(&entry, static_cast<Completion*>(this));
}

void Posted::take_over(CompletionList& list) {
    if (!any_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    assert(!list_.empty());
    any_.store(false, std::memory_order_relaxed);
    list.take_over(list_);
}

}  // namespace blkscope
