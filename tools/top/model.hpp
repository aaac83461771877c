// What the looks add up to: each device's figures of the last interval and its history, and what
// came and went.
//
// A device that is gone stays for ten looks, so that whoever glances at the screen finds it and
// sees that it is gone; one that comes back within them goes on with its history.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/figures.hpp"
#include "tools/top/history.hpp"
#include "tools/top/look.hpp"

namespace blkscope::top {

/// How the columns are computed and headed: as `iostat -xnu` has them.
[[nodiscard]] iostat::Options column_options();

struct Tracked {
    DeviceLook last;
    iostat::Figures figures{};   // of the last interval, nothing clamped; all 0 when it is gone
    bool since_creation = true;  // there was no look before: the interval began with the device
    int looks_gone = 0;          // 0: it is there
    History history;

    [[nodiscard]] const std::string& name() const { return last.device.name; }
    [[nodiscard]] bool is_gone() const { return looks_gone > 0; }
    /// Requests are in service and none is completed: the sign of a device that hangs.
    [[nodiscard]] bool is_stuck() const;
};

/// Whether both are one device; one that was created anew is the same.
[[nodiscard]] bool same_device(const Tracked& tracked, const DeviceLook& look);

class Model {
  public:
    static constexpr int looks_kept = 10;

    /// Takes in the next look.
    void take(const Look& look);

    /// Says something to the user, as take() does when devices come and go.
    void tell(std::string message);

    /// In the order of their names.
    [[nodiscard]] const std::vector<Tracked>& devices() const { return devices_; }

    /// The last thing to say; empty if it was said ten looks ago.
    [[nodiscard]] const std::string& message() const { return message_; }

    /// What came and went in the last look; empty if nothing did.
    [[nodiscard]] const std::string& news() const { return news_; }

    /// When the last look was; 0 before the first.
    [[nodiscard]] hrtime_t time() const { return time_; }

  private:
    void take_device(const DeviceLook& look, hrtime_t elapsed_ns);
    void age_the_missing(const Look& look, hrtime_t elapsed_ns);
    void tell_changes(const Look& look);

    std::vector<Tracked> devices_;
    iostat::Snapshot present_;  // in the last look
    std::string news_;
    std::string message_;
    int message_age_looks_ = 0;
    hrtime_t time_ = 0;
};

enum class SortKey { name, transfers, wait, wsvc_t, asvc_t, busy };

/// As the user reads it: the heading of the column.
[[nodiscard]] const char* sort_key_text(SortKey key);

/// The one after it, round and round.
[[nodiscard]] SortKey next_sort_key(SortKey key);

/// The devices in the order of a screen: by name ascending, by a figure descending and then by
/// name. Those that are gone come last.
///
/// Ownership: borrows the model's devices until its next take().
[[nodiscard]] std::vector<const Tracked*> sorted_devices(const Model& model, SortKey key);

}  // namespace blkscope::top
