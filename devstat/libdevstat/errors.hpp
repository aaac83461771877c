// devstat_errbuf, as the library's functions fill it.
#pragma once

#include <string>

namespace blkscope::devstat {

/// Puts `text` into devstat_errbuf, cut to its size, and returns -1.
int fail(const std::string& text);

/// The same behind what is there already.
int fail_also(const std::string& text);

}  // namespace blkscope::devstat
