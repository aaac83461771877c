// The time that a provider's list of kstats may take, page after page.
//
//     begin ──page──page── ... ──▶ end(true)
//       └───────────── 10 s ─────▶ is_over: the reader gives up, end(false), and pauses
//
// A provider whose list never ends, or always changes, takes less and less of the reader's time.
// Each failure in a row makes the pause longer.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <chrono>

namespace blkscope::kstat {

/// Why a provider is left out that gives no list, or is in the pause.
inline constexpr const char* no_list = "does not list its kstats";

class ListTime {
    using Clock = std::chrono::steady_clock;

  public:
    /// The time for all pages.
    static constexpr auto time_max = std::chrono::seconds(10);
    /// The pause is so many times as long as the lists took that failed.
    static constexpr int pause_factor = 10;

    void begin() { begun_ = Clock::now(); }

    /// `is_whole`: the reader has all pages.
    void end(bool is_whole) {
        const auto now = Clock::now();
        // The reader itself may have been stopped for longer.
        const auto took = std::min<Clock::duration>(now - begun_, time_max);
        vain_ = is_whole ? took.zero() : vain_ + took;
        again_ = now + pause_factor * vain_;
    }

    [[nodiscard]] bool is_over() const { return Clock::now() > begun_ + time_max; }

    /// False in the pause after lists that failed.
    [[nodiscard]] bool may_begin() const { return Clock::now() >= again_; }

  private:
    Clock::time_point begun_{};
    Clock::time_point again_{};
    Clock::duration vain_{};  // the time of the lists that failed, one after the other
};

}  // namespace blkscope::kstat
