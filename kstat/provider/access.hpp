// The rights of a connection's peer.
//
// Root and the provider's own user may write, and may turn optional statistics on and off. Kstats
// with KSTAT2_MF_PRIV are for these two and for the members of one group. The program or the
// environment (KSTAT_PRIV_GROUP: a name or a number) may name that group.
//
// A peer's zone is the one with the label of its process: a control group, or a user namespace. A
// process without such a label is in the global zone if its user namespace is ours. Any other
// process without a label is in no zone. Details that /proc hides about another user's process
// count as none, unless root runs that process.
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
    std::vector<gid_t> groups;  // primary and supplementary groups
};

/// The peer of a connected Unix socket; a peer without any rights if the kernel gives none.
Peer peer_of(int socket);

/// The place where a process runs.
struct Place {
    std::string user_namespace;  // "user:[4026531837]"; empty if /proc hides it
    std::string cgroup;          // "/user.slice/..."; likewise
};
Place place_of(pid_t pid);
/// Only its user namespace, which costs less.
std::string user_namespace_of(pid_t pid);

/// The number of a group given by name or number; nothing if there is none.
std::optional<gid_t> find_group(const std::string& name);

class Access {
  public:
    /// Starts with the settings of the environment.
    static Access& of_this_process();

    explicit Access(std::optional<gid_t> group) : group_(group) {}

    void set_private_group(gid_t group);

    /// Assigns the processes of this label to the zone of that number. The label begins with
    /// "user:[", or with "/" for a control group and those below it. False: no such number or
    /// label.
    bool set_zone(zoneid_t zone, const std::string& label);

    bool may_write(const Peer& peer) const;
    bool sees_private(const Peer& peer) const;
    bool has_zones() const;
    zoneid_t zone_of(const Peer& peer) const;
    zoneid_t zone_of(const Peer& peer, const Place& place, const Place& our_own) const;

    /// Around fork(). The child starts with the parent's settings.
    void before_fork() { mutex_.lock(); }
    void after_fork() { mutex_.unlock(); }

  private:
    mutable std::mutex mutex_;
    std::optional<gid_t> group_;
    std::map<std::string, zoneid_t> zones_;  // by label
};

}  // namespace blkscope::kstat
