#include "driver/nbd/transmission/reserve.hpp"

#include <sys/mman.h>

#include <cassert>

namespace blkscope::nbd {
namespace {

constexpr unsigned reserve_idle_s = 2;

}  // namespace

Reserve::~Reserve() {
    assert(!out_);
    if (memory_ != nullptr) munmap(memory_, reserve_bytes_max);
}

PendingRequest* Reserve::acquire(uint32_t data_bytes) {
    if (out_ || data_bytes > reserve_bytes_max) return nullptr;
    if (data_bytes > 0 && memory_ == nullptr) {
        void* const memory = mmap(nullptr, reserve_bytes_max, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        memory_ = static_cast<std::byte*>(memory);
    }
    assert(data_bytes == 0 || memory_ != nullptr);
    out_ = true;
    idle_seconds_ = 0;
    touched_ = touched_ || data_bytes > 0;
    request_.data = data_bytes > 0 ? memory_ : nullptr;
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
    assert(memory_ != nullptr);
    madvise(memory_, reserve_bytes_max, MADV_DONTNEED);
    touched_ = false;
}

}  // namespace blkscope::nbd
