#include "kstat/provider/access.hpp"

#include <grp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>

#include "base/decimal.hpp"
#include "base/throw_errno.hpp"
#include "kstat/provider/publish.hpp"
#include "kstat/registry/report.hpp"

namespace blkscope::kstat {
namespace {

constexpr const char* group_variable = "KSTAT_PRIV_GROUP";
constexpr size_t usual_groups = 64;

std::optional<gid_t> group_of_environment() {
    // secure_getenv: the caller of a set-user-id provider must not choose the group with access.
    const char* const name = secure_getenv(group_variable);
    if (name == nullptr || *name == '\0') return std::nullopt;
    const auto group = find_group(name);
    if (!group)
        warn("kstat: %s: there is no group '%s'; nobody is given access", group_variable, name);
    return group;
}

// Most users have few groups. The kernel gives the size that it needs together with ERANGE.
std::vector<gid_t> groups_of(int socket) {
    std::vector<gid_t> groups(usual_groups);
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) {
        if (errno != ERANGE || size > NGROUPS_MAX * sizeof(gid_t)) return {};
        groups.resize(size / sizeof(gid_t));
        if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) return {};
    }
    groups.resize(size / sizeof(gid_t));
    return groups;
}

std::string proc_path(pid_t pid, const char* what) {
    return "/proc/" + std::to_string(pid) + "/" + what;
}

// The path of the unified hierarchy: the line that begins with "0::".
std::string cgroup_of(pid_t pid) {
    std::ifstream file(proc_path(pid, "cgroup"));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("0::/")) return line.substr(3);
    }
    return {};
}

bool is_at_or_below(const std::string& path, const std::string& top) {
    return path.starts_with(top) &&
           (path.size() == top.size() || top.back() == '/' || path[top.size()] == '/');
}

}  // namespace

Peer peer_of(int socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
    Peer peer{credentials.pid, credentials.uid, groups_of(socket)};
    peer.groups.push_back(credentials.gid);
    return peer;
}

std::string user_namespace_of(pid_t pid) {
    char link[64];
    const ssize_t length = readlink(proc_path(pid, "ns/user").c_str(), link, sizeof link);
    return {link, length < 0 ? 0 : static_cast<size_t>(length)};
}

Place place_of(pid_t pid) {
    return {user_namespace_of(pid), cgroup_of(pid)};
}

std::optional<gid_t> find_group(const std::string& name) {
    if (const auto number = decimal<gid_t>(name)) return number;
    group found{};
    group* result = nullptr;
    std::vector<char> buffer(1024);
    int status = 0;
    while ((status = getgrnam_r(name.c_str(), &found, buffer.data(), buffer.size(), &result)) ==
               ERANGE &&
           buffer.size() < (size_t{1} << 20)) {
        buffer.resize(2 * buffer.size());
    }
    if (status != 0 || result == nullptr) return std::nullopt;
    return found.gr_gid;
}

Access& Access::of_this_process() {
    static Access& access = *new Access(group_of_environment());
    return access;
}

void Access::set_private_group(gid_t group) {
    const std::lock_guard lock(mutex_);
    group_ = group;
}

bool Access::set_zone(zoneid_t zone, const std::string& label) {
    if (zone < 1 || zone > kstat2::zone_max) return false;
    if (!label.starts_with("user:[") && !label.starts_with("/")) return false;
    const std::lock_guard lock(mutex_);
    zones_[label] = zone;
    return true;
}

bool Access::may_write(const Peer& peer) const {
    return peer.uid == 0 || peer.uid == geteuid();
}

bool Access::sees_private(const Peer& peer) const {
    if (may_write(peer)) return true;
    const std::lock_guard lock(mutex_);
    return group_ &&
           std::find(peer.groups.begin(), peer.groups.end(), *group_) != peer.groups.end();
}

bool Access::has_zones() const {
    const std::lock_guard lock(mutex_);
    return !zones_.empty();
}

// Most programs have no zones, and each file of /proc makes a new connection more expensive.
zoneid_t Access::zone_of(const Peer& peer) const {
    const Place place = has_zones() ? place_of(peer.pid) : Place{user_namespace_of(peer.pid), {}};
    return zone_of(peer, place, {user_namespace_of(getpid()), {}});
}

zoneid_t Access::zone_of(const Peer& peer, const Place& place, const Place& our_own) const {
    {
        const std::lock_guard lock(mutex_);
        if (const auto at = zones_.find(place.user_namespace); at != zones_.end())
            return at->second;
        // From the end: of two labels that both fit, the longer one comes first.
        for (auto at = zones_.rbegin(); at != zones_.rend(); ++at) {
            if (at->first.front() == '/' && is_at_or_below(place.cgroup, at->first)) {
                return at->second;
            }
        }
    }
    if (place.user_namespace.empty()) return peer.uid == 0 ? GLOBAL_ZONEID : kstat2::no_zone;
    return place.user_namespace == our_own.user_namespace ? GLOBAL_ZONEID : kstat2::no_zone;
}

void set_private_group(const std::string& group) {
    const auto found = find_group(group);
    if (!found) throw_errno("looking for the group " + group, ENOENT);
    Access::of_this_process().set_private_group(*found);
}

void set_zone(int zone, const std::string& label) {
    if (Access::of_this_process().set_zone(zone, label)) return;
    throw_errno("giving zone " + std::to_string(zone) + " the label " + label, EINVAL);
}

}  // namespace blkscope::kstat
