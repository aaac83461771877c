// The settings of a device: its upstream, model, limits, fault rules and crash cache, with their counts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/top/screen.hpp"

namespace blkscope::top {

/// The server or cluster that is the backing of the device.
struct Upstream {
    /// A backing has one of these states. A backing of a later version may have others.
    static constexpr std::array states{"connected", "waiting", "changed", "blocklisted"};

    struct Count {
        std::string name;
        uint64_t value = 0;
    };

    std::string state;
    std::vector<Count> counts = {};  // connections, reconnects, resent, losses; orphans, timeouts
    std::optional<uint64_t> round_trip_ns = {};

    [[nodiscard]] bool is_connected() const { return state == states.front(); }
};

struct ModelSetting {
    std::string spec;
    uint64_t seed = 0;
    uint64_t drawn = 0;     // requests that took a server
    uint64_t overruns = 0;  // requests for which the backing was slower than the model
    uint64_t late_ns = 0;   // of all drawn requests together
};

struct LimitBucket {
    std::string name;
    int64_t level = 0;  // operations or bytes; negative for a debt
    uint64_t exceeded_ns = 0;
};

struct LimitSetting {
    std::string spec;
    std::vector<LimitBucket> buckets = {};
};

struct FaultSetting {
    std::string id;
    std::string rule;
    uint64_t hits = 0;
};

/// What clients call the device, and what is behind it.
struct Source {
    std::string export_name;
    std::string backing;
};

/// A setting that the device does not have is none.
struct Settings {
    std::optional<Upstream> upstream;
    std::optional<ModelSetting> model;
    std::optional<LimitSetting> limit;
    std::optional<std::string> client_limit;
    std::vector<FaultSetting> faults;
    std::optional<std::string> crash_cache;
    std::optional<Source> source = {};
};

/// A line about one setting. The text may be long; the counts follow it.
struct SettingLine {
    std::string text;
    std::string counts;
    bool warns = false;
};

[[nodiscard]] SettingLine upstream_line(const Upstream& upstream);

/// The lines in the order of `blkscope list -v`. A device without settings has none.
[[nodiscard]] std::vector<SettingLine> setting_lines(const Settings& settings);

/// Draws the lines into at most `rows` rows, from row `top` on. Returns the number of rows used.
/// The end of a long text is cut, so that the counts fit. If lines have no room, the last of
/// several rows has their number.
int draw_settings(Screen& screen, int top, int rows, const Settings& settings);

}  // namespace blkscope::top
