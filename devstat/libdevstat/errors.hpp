// The functions that fill devstat_errbuf.
#pragma once

#include <string>

namespace blkscope::devstat {

/// Puts `text` into devstat_errbuf, cut to its size, and returns -1.
int fail(const std::string& text);

/// The same, after the present text.
int fail_also(const std::string& text);

}  // namespace blkscope::devstat
