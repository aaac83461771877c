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

}  // namespace blkscope::kstat
