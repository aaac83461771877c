// Opening: opens backings, and reads their partition tables. A thread of its own does that, because a file's system or
// another machine may answer late, and a thousand files take a second.
//
//     Opening ─▶ thread: open_backing_of(), one after the other ─▶ control thread: done(opened, failure)
//
// Ownership: owns copies of the exports. `done` gets the backings.
// Threads:   the control thread, which calls `done`. The other thread ends by itself, also after the
//            Opening. That thread then closes its backings.
// Errors:    the constructor throws std::system_error without a thread. `done` gets the first failure
//            of a backing, and no backings.
#pragma once

#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "tools/blkscope/config.hpp"
#include "tools/blkscope/service.hpp"

namespace blkscope {

class Opening {
  public:
    using Done = std::function<void(OpenedBackings opened, std::exception_ptr failure)>;

    /// Without exports `done` is called at the next turn of `io`. `done` may destroy the Opening.
    Opening(boost::asio::io_context& io, std::vector<ExportConfig> exports, Done done);
    /// `done` is not called any more.
    ~Opening();
    Opening& operator=(Opening&&) = delete;

  private:
    struct State;

    std::shared_ptr<State> state_;
};

}  // namespace blkscope
