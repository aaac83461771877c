// What the peer of a connection may do and see.
//
// Writing, and turning optional statistics on and off, is for root and for our own user. Kstats
// with KSTAT2_MF_PRIV are for these two and for the members of one group, if the program or the
// environment (KSTAT_PRIV_GROUP: a name or a number) says which.
//
// A peer's zone is that whose label its process has: a control group, or a user namespace. Without
// one, it is the global zone for a process of our own user namespace, and none for any other. What
// /proc does not tell us about a process of somebody else's counts as none, unless it is root's.
//
// Threads: any.
// Source:  unix(7), SO_PEERCRED; SO_PEERGROUPS, Linux 4.13; user_namespaces(7); cgroups(7).
#pragma once

#include <sys/types.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kstat/registry/maps.hpp"

namespace blkscope::kstat {

struct Peer {
    pid_t pid = 0;
    uid_t uid = static_cast<uid_t>(-1);
    std::vector<gid_t> groups;  // its own one and the supplementary ones
};

/// Who is at the other end of a connected Unix socket. Nobody in particular, if it cannot be told.
Peer peer_of(int socket);

/// Where a process runs.
struct Place {
    std::string user_namespace;  // "user:[4026531837]"; empty if it may not be seen
    std::string cgroup;          // "/user.slice/..."; likewise
};
Place place_of(pid_t pid);

/// The number of a group given by name or number; nothing if there is none.
std::optional<gid_t> find_group(const std::string& name);

class Access {
  public:
    /// Begins with what the environment says.
    static Access& of_this_process();

    explicit Access(std::optional<gid_t> group) : group_(group) {}

    void set_private_group(gid_t group);

    /// The zone of that number is the processes of this label, which begins with "user:[" or, for a
    /// control group and those below it, with "/". False: no such number or label.
    bool set_zone(zoneid_t zone, const std::string& label);

    bool may_write(const Peer& peer) const;
    bool sees_private(const Peer& peer) const;
    zoneid_t zone_of(const Peer& peer) const;
    zoneid_t zone_of(const Peer& peer, const Place& place, const Place& our_own) const;

  private:
    mutable std::mutex mutex_;
    std::optional<gid_t> group_;
    std::map<std::string, zoneid_t> zones_;  // by label
};

}  // namespace blkscope::kstat
