// The commands of the program blkscope-tools.
#pragma once

#include "tools/blkscope/clients.hpp"
#include "tools/blkscope/command_line.hpp"
#include "tools/blkscope/control_commands.hpp"
#include "tools/blkscope/explain.hpp"
#include "tools/blkscope/list.hpp"
#include "tools/blkscope/predict_command.hpp"
#include "tools/blkscope/replay_command.hpp"
#include "tools/blkscope/slow_command.hpp"
#include "tools/blkscope/trace_command.hpp"
#include "tools/check/check.hpp"
#include "tools/report/report.hpp"
#include "tools/stats/stats.hpp"
#include "tools/top/top.hpp"
#include "tools/web/web.hpp"

namespace blkscope {

struct ControlCommands {
    SetCommand set;
    FaultCommand fault;
    std::string clear_error;
    CrashCommand crash;
};

class ToolsCommands : public CommandSet {
  public:
    /// `reported` is the command for `blkscope report`, from take_reported_command().
    explicit ToolsCommands(Words reported = {});

    void add_to(CLI::App& app) override;
    int run(const CLI::App& app) override;

  private:
    Words reported_;
    ListCommand list_;
    ClientsCommand clients_;
    TraceCommand trace_;
    ReplayCommand replay_;
    SlowCommand slow_;
    ExplainCommand explain_;
    PredictCommand predict_;
    ControlCommands control_;
    check::Options check_;
    report::Options report_;
    stats_command::Options stats_;
    top::Options top_;
    web::Options web_;
};

/// Takes the command of `blkscope report` from behind the first --. CLI11 would take "[a,b]" apart.
Words take_reported_command(Words& words);

}  // namespace blkscope
