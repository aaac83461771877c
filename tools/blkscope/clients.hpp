// blkscope clients: who causes the work of the served devices, sorted by load.
//
// Threads: any.
// Errors:  clients() throws std::runtime_error if there is no such device, and std::system_error if
//          no kstats can be read.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/figures.hpp"

namespace blkscope {

struct ClientsCommand {
    std::string device;     // empty: all
    double interval_s = 1;  // 0: since each client connected
};

/// One client over an interval.
struct ClientLine {
    std::string device;  // nbd0
    std::string client;  // client-1
    std::string connections;
    iostat::Figures figures{};
    std::string who = {};
};

/// The table: for each device its clients, the busiest first. A client's share is its part of the
/// time that all clients of the device were served.
std::string clients_table(std::vector<ClientLine> lines);

/// The systemd unit of a process, from the text of its /proc/PID/cgroup; empty if there is none.
std::string unit_of(const std::string& cgroup);

void clients(const ClientsCommand& command);

}  // namespace blkscope
