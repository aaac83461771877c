#include "kstat/provider/publication.hpp"

#include <cstdlib>
#include <exception>
#include <thread>

#include "base/blocked_signals.hpp"
#include "base/throw_errno.hpp"
#include "kstat/provider/fork.hpp"
#include "kstat/provider/publish.hpp"
#include "kstat/provider/server.hpp"
#include "kstat/registry/report.hpp"

namespace blkscope::kstat {

// A process's own server, for programs without an io_context to lend.
struct Publication::Background {
    boost::asio::io_context io{1};
    std::thread thread;
};

Publication& Publication::of_this_process() {
    static Publication& publication = *new Publication;
    return publication;
}

void Publication::serve_on(boost::asio::io_context& io) {
    watch_forks();
    const std::lock_guard lock(mutex_);
    if (!server_.expired()) throw_errno("publishing kstats", EALREADY);
    const auto server = std::make_shared<Server>(io);
    server->start();
    server_ = server;
}

void Publication::serve_somehow() noexcept try {
    watch_forks();
    const std::lock_guard lock(mutex_);
    if (failed_ || !server_.expired()) return;
    failed_ = true;  // until the end of this function is reached
    start_background();
    failed_ = false;
} catch (const std::exception& error) {
    warn(
        "kstat: other processes cannot read the kstats of this one: %s; "
        "set KSTAT_DIR to a directory that it may write",
        error.what());
}

void Publication::start_background() {
    auto background = std::make_unique<Background>();
    auto server = std::make_shared<Server>(background->io);
    server->start();
    {
        const BlockedSignals blocked(all_signals());  // a program's signals are for its own threads
        background->thread = std::thread([&io = background->io] { io.run(); });
    }
    server_ = server;
    background_ = background.release();
    if (!stops_at_exit_) stops_at_exit_ = std::atexit(stop_background) == 0;
}

// Runs at exit, before the destruction of static objects that kstats may point at.
void Publication::stop_background() {
    Publication& self = of_this_process();
    Background* background = nullptr;
    {
        const std::lock_guard lock(self.mutex_);
        background = std::exchange(self.background_, nullptr);
        if (background == nullptr) return;
        if (background->thread.get_id() == std::this_thread::get_id()) {
            // A ks_update called exit(): this thread cannot wait for itself.
            if (const auto server = self.server_.lock()) server->close();
            self.background_ = background;
            return;
        }
    }
    // Without the lock: the thread may be in a callback that installs a kstat.
    background->io.stop();
    background->thread.join();
    delete background;  // also destroys the server, which removes its socket
}

void Publication::stop() {
    const std::lock_guard lock(mutex_);
    if (const auto server = server_.lock()) server->close();
    server_.reset();
}

void Publication::after_fork_in_child() {
    // The thread does not exist in this process. All objects stay where the parent had them. Leak
    // checkers can reach them, and no code uses them again.
    if (background_ != nullptr) parents_ = std::exchange(background_, nullptr);
    server_.reset();
    failed_ = false;
    mutex_.unlock();
}

void publish_on(boost::asio::io_context& io) {
    Publication::of_this_process().serve_on(io);
}

void unpublish() {
    Publication::of_this_process().stop();
}

}  // namespace blkscope::kstat
