// HistogramSwitch: the switch of a process for the histograms of all its devices. Readers see it as the
// optional statistic blk:hist.
//
//     set_default(on) ──▶ blk:hist ──▶ apply(on) ──▶ publish() or withdraw() of each device
//     kstat2adm ────────▶ blk:hist ──▶ apply(on) ──▶ the same
//
// Units:     none.
// Ownership: borrows the devices' kstats, which add and remove themselves. The switch exists as long as
//            the process.
// Threads:   any.
// Errors:    none; without kstat2's framework only set_default() switches.
// Source:    kstat2_register_optional(9F), kstat2adm(1).
#pragma once

#include <sys/kstat2.h>

#include <mutex>
#include <vector>

namespace blkscope {

class HistogramKstats;

class HistogramSwitch {
  public:
    /// The switch; the first call creates it.
    static HistogramSwitch& of_this_process();

    /// Switches now, and sets the default that kstat2adm can restore. Before the first call the
    /// histograms are on.
    void set_default(bool on);
    /// Whether the histograms are on now.
    [[nodiscard]] bool on() const;

  private:
    friend class HistogramKstats;

    HistogramSwitch();
    void apply(bool on);
    void add(HistogramKstats& device);
    void remove(HistogramKstats& device);
    static int switched(kstat2_opt_id_t id, int enable, void* self);

    kstat2_opt_id_t id_;
    mutable std::mutex mutex_;
    bool on_ = false;
    std::vector<HistogramKstats*> devices_;
};

}  // namespace blkscope
