// The contents of the screen, from top to bottom:
//
//     nbd0  64 MiB  1 client  up 0:03:12  block 4096 B  depth 8              every 1s
//        r/s    w/s ... wsvc_t   asvc_t  %w  %b device           as iostat -xnu has them
//     > 4899.3 ...                              nbd0             the selected device
//       ...
//     model read=exp:1ms, overruns 0, ...       a line for each setting, if the device has any
//     receive  p50 2us   p99 9us     shown: p50 ... p99 ...      before the device, if known
//     wait     p50 12us  p99 250us   shown: p50 ... p99 ...      where requests queue
//      10ms |
//           |        its heatmap
//     service  p50 9us   p99 80us    shown: ...                  where they are served
//      10ms |
//           |        its heatmap
//     reply    p50 8us   p99 30us    shown: ...                  after the device, if known
//            -60s               -30s               now
//     last message, or the keys
//
// If there is too little room, the axis of time is omitted first, then the heatmaps. The p99s of
// the heatmaps stay while there is a line for them. Columns of the table are omitted by their
// weight. Everything else is clipped.
#pragma once

#include <sys/kstat.h>

#include <optional>
#include <string>
#include <vector>

#include "tools/top/model.hpp"
#include "tools/top/screen.hpp"

namespace blkscope::top {

/// The abilities of the terminal.
struct Style {
    bool utf8 = false;   // else ASCII only
    bool color = false;  // else marks: + past the first threshold, ! past the second
};

/// The user's choices.
struct View {
    SortKey sort = SortKey::name;
    std::optional<iostat::Device> selected;  // none, or a removed device: the first device
    bool frozen = false;
    bool help = false;
    bool clients = false;  // the clients of the selected device, instead of the devices
    hrtime_t interval_ns = 0;
    std::string nothing_there;  // the message if there is no device
};

/// The position of the selected device in `devices`; 0 if it is not there.
[[nodiscard]] size_t selected_position(const std::vector<const Tracked*>& devices,
                                       const View& view);

[[nodiscard]] Screen render(const Model& model, const View& view, Size size, Style style);

}  // namespace blkscope::top
