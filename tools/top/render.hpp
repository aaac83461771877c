// What the screen shows, from top to bottom:
//
//     nbd0  64 MiB  1 client  up 0:03:12  block 4096 B  depth 8              every 1s
//        r/s    w/s ... wsvc_t   asvc_t  %w  %b device           as iostat -xnu has them
//     > 4899.3 ...                              nbd0             the selected device
//       ...
//     wait     p50 12us  p99 250us   shown: p50 ... p99 ...      where requests queue
//      10ms |
//           |        its heatmap
//     service  p50 9us   p99 80us    shown: ...                  where they are served
//      10ms |
//           |        its heatmap
//            -60s               -30s               now
//     what happened last, or the keys
//
// What has no room goes: first the axis of time, then the heatmaps, whose p99s stay as long as
// there is a line for them; columns of the table go by their weight; all else is cut off.
#pragma once

#include <sys/kstat.h>

#include <optional>
#include <string>
#include <vector>

#include "tools/top/model.hpp"
#include "tools/top/screen.hpp"

namespace blkscope::top {

/// What the terminal can do.
struct Style {
    bool utf8 = false;   // else ASCII only
    bool color = false;  // else thresholds are marked: + past the first, ! past the second
};

/// What the user has chosen to see.
struct View {
    SortKey sort = SortKey::name;
    std::optional<iostat::Device> selected;  // none, or one that has gone: the first there is
    bool frozen = false;
    bool help = false;
    hrtime_t interval_ns = 0;
    std::string nothing_there;  // what to say when there is no device
};

/// Where in `devices` the selected one is; 0 if it is not there.
[[nodiscard]] size_t selected_position(const std::vector<const Tracked*>& devices,
                                       const View& view);

[[nodiscard]] Screen render(const Model& model, const View& view, Size size, Style style);

}  // namespace blkscope::top
