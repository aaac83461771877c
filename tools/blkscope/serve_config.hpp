// The configuration that the command line of `blkscope serve` gives, without a file.
//
// Threads: any.
// Errors:  std::invalid_argument with one line.
#pragma once

#include "tools/blkscope/config.hpp"
#include "tools/blkscope/serve.hpp"

namespace blkscope {

/// The addresses, the limits and the exports of the options.
ServiceConfig config_of(const ServeOptions& options);

}  // namespace blkscope
