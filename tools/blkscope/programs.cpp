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
namespace {

const OtherCommand* other_command(std::string_view name) {
    const auto* const found = std::ranges::find(other_commands, name, &OtherCommand::name);
    return found == other_commands.end() ? nullptr : found;
}

std::string failure(std::string_view command, const std::string& path, int error) {
    if (error == ENOENT) {
        return fmt::format("{}: {} is not there yet; build or install all of blkscope", command,
                           path);
    }
    return fmt::format("{}: run {}: {}", command, path, std::generic_category().message(error));
}

}  // namespace

bool is_other_command(std::string_view word) {
    return other_command(word) != nullptr;
}

std::string program_path(const std::string& bin, std::string_view program) {
    const std::filesystem::path folder(bin);
    const char* const installed =
        program == tools_program ? BLKSCOPE_TOOLS_FOLDER : "../lib/blkscope/bin";
    const std::filesystem::path apart = (folder / installed).lexically_normal();
    std::error_code none;
    // The folder may have other things. But beside blkscope may be a foreign iostat.
    const bool is_apart = program == tools_program ? std::filesystem::exists(apart / program, none)
                                                   : std::filesystem::is_directory(apart, none);
    return (is_apart ? apart : folder) / program;
}

void become_program(std::vector<std::string> words) {
    assert(!words.empty());
    assert(is_other_command(words.front()));
    const OtherCommand& command = *other_command(words.front());
    // If blkscope was called by a link, this path is still that of the file itself.
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string path = program_path(self.parent_path(), command.program);
    if (command.program == tools_program) words.insert(words.begin(), "blkscope");
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(path.c_str(), arguments.data());
    throw std::runtime_error(failure(command.name, path, errno));
}

}  // namespace blkscope
