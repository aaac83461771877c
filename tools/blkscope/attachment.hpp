// Attachment: /dev/nbdX is attached while the server runs. nbd-client needs a server that answers.
// Therefore nbd-client runs beside the control thread, and its result is posted to that thread.
//
// Ownership: borrows the io_context. The destructor runs the io_context for a moment.
// Threads:   the control thread, which calls `attached`; one more thread while nbd-client runs.
// Errors:    check() throws the exception of attach().
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
    /// Calls `attached` when the device is attached, unless the server ends first. If the device
    /// cannot be attached, stops the io_context.
    Attachment(boost::asio::io_context& io, const nbd::Uri& uri, const AttachOptions& options,
               std::function<void()> attached);
    ~Attachment();
    Attachment& operator=(Attachment&&) = delete;

    /// Throws the reason if the device could not be attached.
    void check() const;

  private:
    void finished();

    boost::asio::io_context& io_;
    std::string device_;
    std::function<void()> attached_;  // empty while the server ends
    std::thread thread_;
    int attached_by_ = 0;  // 0 until the device is attached
    bool done_ = false;
    std::exception_ptr failure_;
};

}  // namespace blkscope
