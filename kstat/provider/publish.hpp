// Publishing this process's kstats to readers in other processes.
//
// No call is needed. The first kstat_install binds `<pid>.sock` in the run directory. A thread of
// the library, with all signals blocked, then serves the socket. A program with a Boost.Asio
// control thread may call publish_on() before that. The control thread then serves the socket.
//
// The socket's file is removed when the process exits or the io_context is destroyed. A child of
// fork() serves nothing until it installs a kstat of its own. A child that continues to use the
// parent's io_context must call io_context::notify_fork, as in any Asio program.
#pragma once

#include <boost/asio/io_context.hpp>
#include <string>

namespace blkscope::kstat {

/// Binds the socket now and serves it from the thread that runs `io`. Serving ends when `io` is
/// destroyed or unpublish() is called. ks_update and ks_snapshot of this process's kstats then run
/// on that thread.
///
/// Ownership: borrows `io`, which must be run by one thread.
/// Errors:    std::system_error: the run directory cannot be created or written; this process
///            publishes already.
void publish_on(boost::asio::io_context& io);

/// Ends the serving by publish_on(): closes every connection and removes the socket, so that `io`
/// may run out of work. Called on the thread that runs `io`, or when no thread runs it.
void unpublish();

/// Lets the members of a group (a name or a number) read kstats with KSTAT2_MF_PRIV. Root and the
/// provider's own user may always read these. The group replaces the one in KSTAT_PRIV_GROUP, for
/// later connections. Throws std::system_error: there is no such group.
void set_private_group(const std::string& group);

/// Sets which readers are in zone `zone` (1 to 9999). A label is a user namespace,
/// "user:[4026532240]" as in /proc/PID/ns/user. Or it is a control group, "/machine.slice/one",
/// with those below it. A zone may have several labels. Affects later connections. Throws
/// std::system_error: no such zone number or form of label.
void set_zone(int zone, const std::string& label);

}  // namespace blkscope::kstat
