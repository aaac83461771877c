// The line of a reader that finds no program to read from: a wrong KSTAT_DIR looks like a machine
// without devices.
//
// Threads: any, while no thread changes the environment.
// Errors:  none.
#pragma once

#include <string>
#include <string_view>

namespace blkscope::program {

/// "no devices in /run/kstat; start a server with 'blkscope serve'".
[[nodiscard]] std::string no_devices_text();

/// Whether the environment names the only directory of providers.
[[nodiscard]] bool has_own_run_directory();

/// Whether a program listens in one of the directories that readers look in.
[[nodiscard]] bool any_provider_listens();

/// Prints "PROGRAM: no devices in DIR; ..., or correct KSTAT_DIR" if no program listens, and if the
/// user named the directory or `misses` something.
void complain_of_no_providers(std::string_view program, bool misses);

}  // namespace blkscope::program
