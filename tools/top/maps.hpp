// The lower part of the screen: the percentiles and the heatmaps of the selected device, wait above
// service. Above and below these are the percentiles of the stages on the connection.
#pragma once

#include "tools/top/model.hpp"
#include "tools/top/render.hpp"
#include "tools/top/screen.hpp"

namespace blkscope::top {

/// Draws into `rows` rows, from row `top` on.
void draw_maps(Screen& screen, int top, int rows, const Tracked& device, Style style);

}  // namespace blkscope::top
