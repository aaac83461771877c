#include "kstat/registry/histogram.hpp"

#include <cstdlib>
#include <new>
#include <utility>

namespace blkscope::kstat2 {

void Histogram::Free::operator()(void* memory) const {
    std::free(memory);
}

Histogram::Histogram(std::shared_ptr<const Buckets> shape, std::span<uint64_t> own,
                     kstat2_named_t& pair)
    : shape_(std::move(shape)),
      pair_(pair),
      buckets_(own.data()),
      capacity_(static_cast<uint32_t>(own.size())),
      grows_(own.empty() && shape_->type() == KSTAT2_NVHIST_LINEAR) {
    assert(shape_->why_invalid() == nullptr);
    if (own.empty()) {
        capacity_ = shape_->count();
        // calloc, because it leaves fresh pages of the kernel untouched.
        memory_.reset(static_cast<uint64_t*>(std::calloc(capacity_, sizeof(uint64_t))));
        if (!memory_) throw std::bad_alloc();
        buckets_ = memory_.get();
    }
    kstat2_nv_setints(&pair, buckets_, grows_ ? 0 : capacity_);
}

extern "C" void kstat2_hist_add_value(kstat2_t* ksp, uint64_t value) {
    if (ksp == nullptr || ksp->ks2_reserved == nullptr) return;
    static_cast<Histogram*>(ksp->ks2_reserved)->add(value);
}

}  // namespace blkscope::kstat2
