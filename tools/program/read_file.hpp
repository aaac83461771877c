// Files that a command reads whole, with a bound: a device, an endless pipe or another file that was named by
// mistake must not fill the memory.
//
// Threads: any.
// Errors:  std::system_error with the path if the file cannot be read; std::invalid_argument with one line, which
//          begins with the path, if it is no file or pipe, or has too much.
#pragma once

#include <cstddef>
#include <string>

namespace blkscope::program {

/// A server must not wait for the writer of a pipe.
enum class Pipes { read, refused };

/// The content of a file or a pipe, of at most `bytes_max`, in memory of about its size. A FIFO that
/// nobody has opened for writing is refused after some seconds.
[[nodiscard]] std::string read_file(const std::string& path, size_t bytes_max,
                                    Pipes pipes = Pipes::read);

}  // namespace blkscope::program
