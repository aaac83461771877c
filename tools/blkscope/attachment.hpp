// Attachment: /dev/nbdX for as long as the server runs. nbd-client needs a server that answers, so
// it runs beside the control thread; what came of it is told there.
//
// Ownership: borrows the io_context, which it runs for a moment at the end.
// Threads:   the control thread, on which `attached` is called; one of its own while nbd-client runs.
// Errors:    check() throws what attach() threw.
#pragma once

#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include "driver/attach/attach.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope {

class Attachment {
  public:
    /// Calls `attached` when the device is there, unless the server ends first. Where it cannot be
    /// had, the io_context is stopped.
    Attachment(boost::asio::io_context& io, const nbd::Uri& uri, const AttachOptions& options,
               std::function<void()> attached);
    ~Attachment();
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

    /// Throws why it could not be attached, if it could not.
    void check() const;

  private:
    void finished();

    boost::asio::io_context& io_;
    std::string device_;
    std::function<void()> attached_;  // empty when the server ends
    std::thread thread_;
    int attached_by_ = 0;  // 0 until it is
    bool done_ = false;
    std::exception_ptr failure_;
};

}  // namespace blkscope
