// blkscope set, fault, clear-error, crash: change a device of a running server.
//
//     nbd0 ── nbd:0:nbd0,export ──▶ pid ──▶ <pid>.ctl in the run directory
//     command ── a line of JSON ──▶ <pid>.ctl ──▶ server
//
// The command checks its input before it asks the server, and reads the FILEs of models. The server
// checks all of it again.
//
// Threads: any.
// Errors:  std::invalid_argument for bad input, of which the exit status is 2. std::runtime_error
//          or std::system_error if there is no such device, or its server refuses.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace blkscope {

struct SetCommand {
    std::string device;
    std::vector<std::string> settings;  // model=, limit=, client-limit=SPEC, queue-depth=N
};

struct FaultCommand {
    std::string device;
    std::string action;                   // add, list or clear
    std::optional<std::string> argument;  // the rule of add; the number of clear
};

struct CrashCommand {
    std::string device;  // empty for all
    bool all = false;
};

void set(const SetCommand& command);
void fault(const FaultCommand& command);
void clear_error(const std::string& device);
void crash(const CrashCommand& command);

}  // namespace blkscope
