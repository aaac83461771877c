#include "driver/nbd/transmission/reserve.hpp"

#include <cassert>

namespace blkscope::nbd {
namespace {

constexpr unsigned reserve_idle_s = 2;

}  // namespace

Reserve::~Reserve() {
    assert(!out_);
}

PendingRequest* Reserve::acquire(uint32_t data_bytes) {
    if (out_ || data_bytes > reserve_bytes_max) return nullptr;
    if (data_bytes > 0 && !memory_) {
        memory_.emplace(reserve_bytes_max);
        if (memory_->start() == nullptr) memory_.reset();
        if (!memory_) return nullptr;
    }
    assert(data_bytes == 0 || memory_);
    out_ = true;
    idle_seconds_ = 0;
    touched_ = touched_ || data_bytes > 0;
    request_.data = data_bytes > 0 ? memory_->start() : nullptr;
    request_.held_bytes = data_bytes;
    return &request_;
}

void Reserve::release([[maybe_unused]] PendingRequest& request) {
    assert(out_);
    assert(&request == &request_);
    assert(request_.held_bytes <= reserve_bytes_max);
    out_ = false;
}

void Reserve::tick() {
    if (out_ || !touched_ || ++idle_seconds_ < reserve_idle_s) return;
    assert(memory_);
    (void)memory_->drop_all();
    touched_ = false;
}

}  // namespace blkscope::nbd
