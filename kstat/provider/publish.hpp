// Publishing this process's kstats to readers in other processes.
//
// Nothing has to be called: the first kstat_install binds `<pid>.sock` in the run directory and
// serves it from a thread of its own, which has all signals blocked. A program with a Boost.Asio
// control thread calls publish_on() before that instead, and is served there.
//
// The socket's file is removed when the process exits or the io_context is destroyed. A child of
// fork() serves nothing until it installs a kstat of its own; one that goes on using the parent's
// io_context must call io_context::notify_fork, as with any Asio program.
#pragma once

#include <boost/asio/io_context.hpp>
#include <string>

namespace blkscope::kstat {

/// Binds the socket now and serves it from whoever runs `io`, until `io` is destroyed or
/// unpublish() is called. ks_update and ks_snapshot of this process's kstats then run on that
/// thread.
///
/// Ownership: borrows `io`, which must be run by one thread.
/// Errors:    std::system_error: the run directory cannot be made or written; this process
///            publishes already.
void publish_on(boost::asio::io_context& io);

/// Ends what publish_on() began: closes every connection and removes the socket, so that `io` may
/// run out of work. Call it on the thread that runs `io`, or when none does.
void unpublish();

/// Lets the members of a group (a name or a number) read kstats with KSTAT2_MF_PRIV, as root and
/// our own user may anyway; instead of the group that KSTAT_PRIV_GROUP names. For connections made
/// from now on. Throws std::system_error: there is no such group.
void set_private_group(const std::string& group);

/// Says which readers are in zone `zone` (1 to 9999): those in a user namespace,
/// "user:[4026532240]" as in /proc/PID/ns/user, or in a control group or below it,
/// "/machine.slice/one". A zone may have several labels. For connections made from now on. Throws
/// std::system_error: no such zone number or form of label.
void set_zone(int zone, const std::string& label);

}  // namespace blkscope::kstat
