// What the framework says on standard error: one line per warning, and the last words of a panic.
#pragma once

namespace blkscope::kstat {

/// Prints one line. printf's arguments, no newline.
void warn(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Prints one line and aborts: the caller broke a rule that the kernel would panic for.
[[noreturn]] void panic(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace blkscope::kstat
