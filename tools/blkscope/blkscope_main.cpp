// blkscope: serve, attach and detach. Each other command is another program's: see programs.hpp.

#include <exception>

#include "base/descriptor.hpp"
#include "base/detached_thread.hpp"
#include "base/log_line.hpp"
#include "tools/blkscope/failure.hpp"
#include "tools/blkscope/programs.hpp"
#include "tools/blkscope/serving_commands.hpp"

int main(int argc, char** argv) {
    blkscope::occupy_standard_descriptors();
    const blkscope::Words words = blkscope::with_help_as_option({argv, argv + argc});
    try {
        if (words.size() > 1 && blkscope::is_other_command(words[1])) {
            blkscope::become_program({words.begin() + 1, words.end()});
        }
    } catch (const std::exception& failure) {
        blkscope::log_line(blkscope::failure_text(failure));
        return 1;
    }
    blkscope::ServingCommands commands;
    return blkscope::end_process(blkscope::run_commands(commands, words));
}
