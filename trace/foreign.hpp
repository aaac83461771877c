// What a file is that is no trace, for the message that refuses it.
//
// Threads: pure functions. Errors: none; any bytes are accepted.
// Source:  the formats' own first bytes, as file(1) knows them; blkparse(1); fio(1); pcap-savefile(5).
#pragma once

#include <string>
#include <string_view>

namespace blkscope::trace {

/// What the file is, and what to do with it, in a line without a full stop: "compressed with gzip;
/// unpack it first". Empty if nothing is known of it.
[[nodiscard]] std::string foreign_kind(std::string_view file);

}  // namespace blkscope::trace
