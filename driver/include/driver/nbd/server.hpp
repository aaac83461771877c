// Server: exports, the workers that serve them, and the door through which clients come.
//
//     accept ─▶ Negotiation (handshake, with a deadline) ─▶ Worker::hand_over
//
// The control thread runs the io_context: listening, handshakes, deadlines. No byte of a disk
// passes through it; once negotiated, a connection is its worker's.
//
// Order of calls: add() each export, listen_*(), start(); then run the io_context. stop() or the
// destructor ends every client (requests that were accepted are answered) and joins the workers.
//
// Ownership: borrows the io_context; owns exports, devices, workers, listeners and handshakes.
// Threads:   the one that runs the io_context.
// Errors:    std::system_error or another std::runtime_error from the constructor, add() and
//            listen_*(), std::invalid_argument for an address that is none; a client's failure ends
//            that client only.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <kstat/instance.hpp>
#include <memory>
#include <string>
#include <vector>

#include "blockdev/backing.hpp"
#include "driver/nbd/handshake.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

struct Export;
class Listener;
class LogLimit;
class Negotiation;
class Worker;

struct ExportOptions {
    std::string name;
    std::string description;  // empty: the device's name and its backing
    std::unique_ptr<Backing> backing;
    kstat::InstanceClaim instance;
    uint32_t queue_depth = 32;
    bool read_only = false;
};

class Server {
  public:
    struct Options {
        unsigned workers = 1;
        std::chrono::milliseconds handshake_time{10'000};  // from the greeting to transmission
        unsigned connections_max = 256;                    // handshakes included
        bool list = true;                                  // clients may ask what there is
    };

    Server(boost::asio::io_context& io, const Options& options);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    void add(ExportOptions options);

    /// A stale socket at `path` is replaced; one that answers is not (EADDRINUSE).
    void listen_unix(const std::string& path);
    /// `port` 0 takes a free one.
    void listen_tcp(const std::string& address, uint16_t port);

    void start();
    void stop();

    [[nodiscard]] size_t exports() const { return exports_.size(); }
    /// The device's name (nbd0), and where a client finds it: one URI for each address that is
    /// listened on, Unix sockets first.
    [[nodiscard]] const std::string& device_name(size_t index) const;
    [[nodiscard]] std::vector<Uri> uris(size_t index) const;

  private:
    friend class Listener;
    friend class Negotiation;
    using Socket = boost::asio::generic::stream_protocol::socket;

    void admit(Socket socket);
    void negotiated(Negotiation& negotiation, size_t export_index, const Terms& terms, int socket);
    void ended(Negotiation& negotiation);
    [[nodiscard]] size_t connections() const;

    boost::asio::io_context& io_;
    Options options_;
    std::vector<Uri> addresses_;  // of the default export
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<Export>> exports_;
    std::unique_ptr<Exports> names_;
    std::vector<std::shared_ptr<Listener>> listeners_;
    std::vector<std::shared_ptr<Negotiation>> negotiations_;
    std::unique_ptr<LogLimit> log_;
};

}  // namespace blkscope::nbd
