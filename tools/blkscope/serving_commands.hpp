// The commands of the program blkscope: serve, attach and detach.
#pragma once

#include "driver/attach/attach.hpp"
#include "tools/blkscope/command_line.hpp"
#include "tools/blkscope/serve.hpp"

namespace blkscope {

struct AttachCommand {
    std::string uri;
    AttachOptions options;
    bool persist = false;
};

struct DetachCommand {
    std::string device;
    DetachOptions options;
};

class ServingCommands : public CommandSet {
  public:
    /// The commands of other programs are added too, for the help and for the nearest command. A
    /// command line that names one of them is never parsed here.
    void add_to(CLI::App& app) override;
    int run(const CLI::App& app) override;

  private:
    ServeOptions serve_;
    AttachCommand attach_;
    DetachCommand detach_;
};

/// "blkscope help serve" and "blkscope --help serve" are "blkscope serve --help"; "blkscope help" is
/// "blkscope --help".
Words with_help_as_option(Words words);

}  // namespace blkscope
