#include "tools/blkscope/attachment.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "base/log_line.hpp"

namespace blkscope {

namespace asio = boost::asio;

Attachment::Attachment(asio::io_context& io, const nbd::Uri& uri, const AttachOptions& options,
                       std::function<void()> attached)
    : io_(io), device_(options.device), attached_(std::move(attached)) {
    thread_ = std::thread([this, uri, options] {
        try {
            attach(uri, options);
            attached_by_ = attached_by(device_);
        } catch (const std::exception&) {
            failure_ = std::current_exception();
        }
        asio::post(io_, [this] { finished(); });
    });
}

// Waits until nbd-client has ended. nbd-client ends only if the server answers its handshake.
// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads, the program may end here
Attachment::~Attachment() {
    attached_ = nullptr;
    try {
        io_.restart();
        while (!done_) io_.run_one();
        thread_.join();
        // Meanwhile a user may have detached the device, or attached it to another server.
        if (attached_by_ == 0 || attached_by(device_) != attached_by_) return;
        detach(device_, {.force = true});  // its server ends, so its users lose it in any case
    } catch (const std::exception& error) {
        log_line(error.what());
    }
}

void Attachment::check() const {
    if (failure_) std::rethrow_exception(failure_);
}

void Attachment::finished() {
    done_ = true;
    if (failure_) return io_.stop();
    if (attached_) attached_();
}

}  // namespace blkscope
