// The server of this process's chain, if any, and the thread that runs it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <mutex>

namespace blkscope::kstat {

class Server;

class Publication {
  public:
    static Publication& of_this_process();

    /// Serves from `io`. Throws std::system_error.
    void serve_on(boost::asio::io_context& io);

    /// Serves from a thread of its own, unless the chain is served already. A failure is reported
    /// once. The provider then has no readers in other processes.
    void serve_somehow() noexcept;

    void stop();

    void before_fork() { mutex_.lock(); }
    void after_fork_in_parent() { mutex_.unlock(); }
    void after_fork_in_child();

  private:
    struct Background;

    void start_background();
    static void stop_background();

    std::mutex mutex_;
    std::weak_ptr<Server> server_;
    Background* background_ = nullptr;
    Background* parents_ = nullptr;  // in a child: the parent's, never touched
    bool failed_ = false;
    bool stops_at_exit_ = false;
};

}  // namespace blkscope::kstat
