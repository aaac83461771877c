// How a reader library tells a program that it leaves a provider out.
//
// The libraries look for this function in the program. A program that asserts on numbers defines
// it: a condition may be true only because devices are missing.
//
// Ownership: the text is the library's, until the function returns.
// Threads:   each that reads kstats, through either library.
// Errors:    none; the function must not throw.
#pragma once

/// A provider's statistics are left out of what is being read, and `socket` is its path. Returns
/// whether the library tells the user of it, if KSTAT_WARN is set. Without this function, it does so
/// once for each socket.
extern "C" [[gnu::weak, gnu::visibility("default")]] bool kstat_left_out(const char* socket);
