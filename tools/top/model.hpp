// Accumulates the looks: each device's figures of the last interval, its history, and the devices
// that were added or removed.
//
// A removed device stays for ten looks, so that the user can see the removal. A device that returns
// within ten looks continues its history.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/figures.hpp"
#include "tools/top/history.hpp"
#include "tools/top/look.hpp"

namespace blkscope::top {

/// The computation and the headings of the columns are those of `iostat -xnu`.
[[nodiscard]] iostat::Options column_options();

struct Tracked {
    DeviceLook last;
    iostat::Figures figures{};   // of the last interval, not clamped; all 0 after removal
    bool since_creation = true;  // without an earlier look the interval began with the device
    int looks_gone = 0;          // looks since its removal; 0: the device is present
    History history;

    [[nodiscard]] const std::string& name() const { return last.device.name; }
    [[nodiscard]] bool is_gone() const { return looks_gone > 0; }
    /// Requests are in service and none is completed, as with a device that hangs.
    [[nodiscard]] bool is_stuck() const;
};

/// Whether this is a client of a device.
[[nodiscard]] bool is_client(const Tracked& tracked);

class Model {
  public:
    static constexpr int looks_kept = 10;

    /// Adds the next look.
    void take(const Look& look);

    /// Sets the message to the user, as take() does for added and removed devices.
    void tell(std::string message);

    /// The devices in the order of their names.
    [[nodiscard]] const std::vector<Tracked>& devices() const { return devices_; }

    /// The last message; empty after ten looks.
    [[nodiscard]] const std::string& message() const { return message_; }

    /// The devices added and removed in the last look, as text; empty if there are none.
    [[nodiscard]] const std::string& news() const { return news_; }

    /// The time of the last look; 0 before the first.
    [[nodiscard]] hrtime_t time() const { return time_; }

  private:
    std::vector<Tracked>::iterator find(const iostat::Device& device);
    void take_device(const DeviceLook& look, hrtime_t elapsed_ns);
    void age_the_missing(const Look& look, hrtime_t elapsed_ns);
    void tell_changes(const Look& look);

    std::vector<Tracked> devices_;
    iostat::Snapshot present_;  // the devices in the last look
    std::string news_;
    std::string message_;
    int message_age_looks_ = 0;
    hrtime_t time_ = 0;
};

enum class SortKey { name, transfers, wait, wsvc_t, asvc_t, busy };

/// The name of the key for the user: the heading of its column.
[[nodiscard]] const char* sort_key_text(SortKey key);

/// The next key; after the last key, the first.
[[nodiscard]] SortKey next_sort_key(SortKey key);

/// The devices without their clients. The order is that of a screen: by name ascending, or by a
/// figure descending and then by name. Removed devices come last.
///
/// Ownership: borrows the model's devices until its next take().
[[nodiscard]] std::vector<const Tracked*> sorted_devices(const Model& model, SortKey key);

/// The clients of a device, likewise.
[[nodiscard]] std::vector<const Tracked*> sorted_clients(const Model& model, const Tracked& device,
                                                         SortKey key);

}  // namespace blkscope::top
