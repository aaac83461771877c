// The lower part of the screen: the percentiles of the selected device and its heatmaps, wait above
// service.
#pragma once

#include "tools/top/model.hpp"
#include "tools/top/render.hpp"
#include "tools/top/screen.hpp"

namespace blkscope::top {

/// Draws into the rows from `top` on, of which there are `rows`.
void draw_maps(Screen& screen, int top, int rows, const Tracked& device, Style style);

}  // namespace blkscope::top
