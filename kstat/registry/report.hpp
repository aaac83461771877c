// The framework's output on standard error: one line per warning, and the message of a panic.
#pragma once

namespace blkscope::kstat {

/// Prints one line. printf's arguments, no newline.
void warn(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Prints one line and aborts: the caller broke a rule for which the kernel would panic.
[[noreturn]] void panic(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace blkscope::kstat
