// The lower part of the screen: the percentiles of the selected device and its heatmaps, wait above
// service.
#pragma once

#include "top/model.hpp"
#include "top/render.hpp"
#include "top/screen.hpp"

namespace blkscope::top {

/// Draws into the rows from `top` on, of which there are `rows`.
void draw_maps(Screen& screen, int top, int rows, const Tracked& device, Style style);

}  // namespace blkscope::top
