#include "tools/blkscope/programs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace blkscope {

bool is_program(std::string_view word) {
    return std::ranges::find(program_commands, word, &ProgramCommand::name) !=
           program_commands.end();
}

std::string program_path(const std::string& bin, const std::string& name) {
    const std::filesystem::path folder(bin);
    const std::filesystem::path apart = (folder / "../lib/blkscope/bin").lexically_normal();
    std::error_code none;
    return (std::filesystem::is_directory(apart, none) ? apart : folder) / name;
}

void become_program(std::vector<std::string> words) {
    assert(!words.empty());
    assert(is_program(words.front()));
    // If blkscope was called by a link, this path is still that of the file itself.
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string path = program_path(self.parent_path(), words.front());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(path.c_str(), arguments.data());
    throw std::runtime_error(fmt::format("{}: run {}: {}; build or install all of blkscope",
                                         words.front(), path,
                                         std::generic_category().message(errno)));
}

}  // namespace blkscope
