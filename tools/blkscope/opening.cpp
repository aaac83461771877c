#include "tools/blkscope/opening.hpp"

#include <boost/asio/post.hpp>
#include <mutex>
#include <utility>

#include "base/detached_thread.hpp"

namespace blkscope {

// Shared by the two threads. The last of them closes the backings that were not taken.
struct Opening::State {
    std::mutex mutex;
    boost::asio::io_context* io;  // nullptr after the Opening
    Done done;                    // the control thread's
    OpenedBackings opened = {};
    std::exception_ptr failure = {};

    bool is_wanted() {
        const std::lock_guard one(mutex);
        return io != nullptr;
    }
    void open(const std::vector<ExportConfig>& exports) {
        try {
            for (const ExportConfig& exp : exports) {
                if (!is_wanted()) return;
                auto backing = open_backing_of(exp);
                TableLook look = look_at_table(*backing);
                opened.emplace(exp.name, OpenedBacking{std::move(backing), std::move(look)});
            }
        } catch (...) {
            opened.clear();
            failure = std::current_exception();
        }
    }
    static void post(const std::shared_ptr<State>& state) {
        const std::lock_guard one(state->mutex);
        if (state->io == nullptr) return;
        boost::asio::post(*state->io, [state] {
            const Done done = std::exchange(state->done, {});
            if (done) done(std::move(state->opened), state->failure);
        });
    }
};

Opening::Opening(boost::asio::io_context& io, std::vector<ExportConfig> exports, Done done)
    : state_(std::make_shared<State>()) {
    state_->io = &io;
    state_->done = std::move(done);
    if (exports.empty()) {
        State::post(state_);
        return;
    }
    run_detached([state = state_, exports = std::move(exports)] {
        state->open(exports);
        State::post(state);
    });
}

Opening::~Opening() {
    const std::lock_guard one(state_->mutex);
    state_->io = nullptr;
    state_->done = {};
}

}  // namespace blkscope
