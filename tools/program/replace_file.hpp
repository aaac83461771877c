// Files that a command writes for its user: whole or not at all.
//
// Errors: std::system_error with the path.
#pragma once

#include <string>
#include <string_view>

namespace blkscope::program {

/// Gives the file a new content. If that fails, the file stays as it was.
///
/// The content goes to a new file beside it. The new file gets the rights of the old one, and then its
/// name. A pipe or a device is written as it is. So is a file in a folder that takes no new file.
void replace_file(const std::string& path, std::string_view content);

/// Tries whether replace_file() can write there, and changes nothing. For use before a long run.
void require_replaceable(const std::string& path);

}  // namespace blkscope::program
