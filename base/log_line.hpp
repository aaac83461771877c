// Lines for a reader that may be slow or stopped, or may have ended. A server must neither end nor
// wait for ever because of its reader.
//
// Threads: any. Lines of one process do not mix.
// Errors:  a line that cannot be written is lost.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string_view>

namespace blkscope {

/// The time that a reader gets to make room in a full pipe.
inline constexpr std::chrono::milliseconds reader_pause_max{100};

/// Writes `blkscope: `, the parts and a newline to standard error, at most 4096 bytes. After lost
/// lines the next written line follows their number. A full pipe gets the time reader_pause_max.
/// From then on lines are lost at once, until one can be written.
void log_parts(std::initializer_list<std::string_view> parts) noexcept;

template <class... Parts>
void log_line(const Parts&... parts) noexcept {
    log_parts({std::string_view(parts)...});
}

/// Writes the whole text to `descriptor`. False if the rest is lost: a write failed, or the
/// descriptor took nothing for the time `patience`.
bool offer(int descriptor, std::string_view text, std::chrono::milliseconds patience) noexcept;

}  // namespace blkscope
