#include "tools/blkscope/attachment.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <cstdio>
#include <utility>

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

// Not before nbd-client has ended, and it ends only if its handshake is answered.
Attachment::~Attachment() {
    attached_ = nullptr;
    io_.restart();
    while (!done_) io_.run_one();
    thread_.join();
    // It may have been detached by hand meanwhile, or attached to something else.
    if (attached_by_ == 0 || attached_by(device_) != attached_by_) return;
    try {
        detach(device_, {.force = true});  // its server goes, whoever uses it
    } catch (const std::exception& error) {
        fmt::print(stderr, "blkscope: {}\n", error.what());
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
