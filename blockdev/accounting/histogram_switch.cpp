#include "blockdev/accounting/histogram_switch.hpp"

#include <algorithm>
#include <cassert>

#include "blockdev/accounting/histogram_kstats.hpp"
#include "kstat/registry/optionals.hpp"

namespace blkscope {

HistogramSwitch& HistogramSwitch::of_this_process() {
    static auto& instance = *new HistogramSwitch;  // never destroyed: readers may still use it
    return instance;
}

HistogramSwitch::HistogramSwitch()
    : id_(kstat2_register_optional("blk:hist", "histograms of the block devices' requests",
                                   switched, this)) {
    set_default(true);
}

bool HistogramSwitch::on() const {
    const std::lock_guard lock(mutex_);
    return on_;
}

void HistogramSwitch::set_default(bool on) {
    auto& optionals = kstat2::Optionals::of_this_process();
    optionals.set_default(id_, on);
    if (optionals.set(id_, on) != 0) apply(on);  // without the framework nothing else applies it
}

int HistogramSwitch::switched(kstat2_opt_id_t /*id*/, int enable, void* self) {
    static_cast<HistogramSwitch*>(self)->apply(enable != 0);
    return 0;
}

void HistogramSwitch::apply(bool on) {
    const std::lock_guard lock(mutex_);
    on_ = on;
    for (HistogramKstats* device : devices_) on ? device->publish() : device->withdraw();
}

void HistogramSwitch::add(HistogramKstats& device) {
    const std::lock_guard lock(mutex_);
    assert(std::ranges::find(devices_, &device) == devices_.end());
    devices_.push_back(&device);
    if (on_) device.publish();
}

void HistogramSwitch::remove(HistogramKstats& device) {
    const std::lock_guard lock(mutex_);
    [[maybe_unused]] const auto removed = std::erase(devices_, &device);
    assert(removed == 1);
    device.withdraw();
}

}  // namespace blkscope
