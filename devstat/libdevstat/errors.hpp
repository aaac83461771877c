// The function that fills devstat_errbuf.
#pragma once

#include <string>

namespace blkscope::devstat {

/// Puts `text` into devstat_errbuf, cut to its size, and returns -1.
int fail(const std::string& text);

}  // namespace blkscope::devstat
