// blkscope-tools: see command_line.hpp.

#include "base/descriptor.hpp"
#include "tools/blkscope/tools_commands.hpp"
#include "tools/program/left_out.hpp"

int main(int argc, char** argv) {
    blkscope::occupy_standard_descriptors();
    blkscope::program::warn_of_silent_providers("blkscope");
    blkscope::Words words(argv, argv + argc);
    blkscope::ToolsCommands commands(blkscope::take_reported_command(words));
    return blkscope::run_commands(commands, words);
}
