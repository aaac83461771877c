// AsioExecutor: an Executor on a Boost.Asio io_context, with real sockets and real time.
//
//     boost::asio::io_context io;
//     AsioExecutor executor(io);
//     Server server(executor, options);
//     ...
//     io.run();        // every call of the executor is made here
//
// The executor and all objects that it made must be destroyed before the io_context. Calls that are
// still pending then are destroyed with the io_context.
//
// Ownership: borrows the io_context; owns one spare descriptor, which its acceptors share.
// Threads:   the thread that runs the io_context; post() from any.
// Errors:    as in executor.hpp.
// Source:    Boost.Asio 1.74; accept4(2).
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "driver/nbd/server/descriptors.hpp"
#include "driver/nbd/server/executor.hpp"

namespace blkscope::nbd {

class AsioExecutor final : public Executor {
  public:
    explicit AsioExecutor(boost::asio::io_context& io) : io_(io) {}

    void post(std::function<void()> call) override;
    [[nodiscard]] Time now() const override { return std::chrono::steady_clock::now(); }
    [[nodiscard]] std::unique_ptr<Timer> make_timer() override;
    [[nodiscard]] std::unique_ptr<StreamSocket> take_socket(int descriptor) override;
    [[nodiscard]] std::unique_ptr<Acceptor> listen_unix(const std::string& path) override;
    [[nodiscard]] std::unique_ptr<Acceptor> listen_tcp(const std::string& address,
                                                       uint16_t port) override;
    [[nodiscard]] std::unique_ptr<Acceptor> listen_on(int descriptor) override;

  private:
    boost::asio::io_context& io_;
    std::shared_ptr<SpareDescriptor> spare_ = std::make_shared<SpareDescriptor>();
};

}  // namespace blkscope::nbd
