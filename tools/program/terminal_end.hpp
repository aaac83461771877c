// Whether the end of a terminal is meant for a server: SIGHUP also asks a server to read its files again.
//
// Threads: any.
// Errors:  none.
// Source:  tty(4), nohup(1).
#pragma once

namespace blkscope::program {

/// Whether the process has a controlling terminal. A shortage of descriptors or memory says nothing of
/// it, and counts as one.
[[nodiscard]] bool has_terminal();

/// Whether SIGHUP is ignored, as nohup(1) has it: then the end of the terminal must not end the process.
[[nodiscard]] bool ignores_hangups();

}  // namespace blkscope::program
