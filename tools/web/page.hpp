// The files of the page, which are in the program: tools/web/page/.
//
// index.html is the live page. device.html is the part of one device, which index.html has inside.
// The style and the scripts are files of their own, because the policy of the server allows no other.
//
// Ownership: the texts are constants. Threads: any. Errors: none.
#pragma once

#include <span>
#include <string_view>

namespace blkscope::web {

struct PageFile {
    std::string_view name;  // as in page.js
    std::string_view text;
};

[[nodiscard]] std::span<const PageFile> page_files();

/// The text of a file; empty if there is none of that name.
[[nodiscard]] std::string_view page_file(std::string_view name);

/// The Content-Type of a file, by the end of its name.
[[nodiscard]] std::string_view type_of_file(std::string_view name);

}  // namespace blkscope::web
