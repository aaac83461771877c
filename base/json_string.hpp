// A string of JSON. It is valid JSON whatever bytes the text has: valid UTF-8 stays, and control characters
// and bytes that are not UTF-8 are escaped as \u00XX. So it is fit for terminals and messages, too.
//
// Threads: a pure function. Errors: none.
// Source:  RFC 8259, section 7.
#pragma once

#include <string>
#include <string_view>

namespace blkscope {

/// `text` between quotes.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace blkscope
