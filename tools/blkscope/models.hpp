// blkscope models: the presets of --model and --limit, and the distributions of the grammar.
#pragma once

#include <string>

namespace blkscope {

/// The text that the command prints, in 80 columns.
std::string models_text();

}  // namespace blkscope
