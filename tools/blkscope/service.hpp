// Service: a server and the configuration that it has, which may be changed while it serves.
//
// Threads: the control thread.
// Errors:  the constructor and change() throw std::system_error, std::runtime_error or
//          std::invalid_argument; after change() has thrown everything is as it was.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/nbd/server/server.hpp"
#include "tools/blkscope/config.hpp"

namespace blkscope {

/// How clients come in, besides the addresses of the configuration.
struct Door {
    std::vector<int> sockets = {};   // that listen already; then the configuration has none
    std::optional<int> client = {};  // the only one
    int preferred_instance = -1;     // of the first export's device; -1 for any
};

/// What a change did, by name.
struct ServiceChange {
    std::vector<std::string> added;
    std::vector<std::string> replaced;
    std::vector<std::string> removed;
};

class Service {
  public:
    /// Opens all backings and listens; `start()` of the server is left to the caller.
    Service(nbd::Executor& executor, ServiceConfig config, const Door& door);

    /// Exports whose configuration is the same stay, and with them their clients; others come and
    /// go. Limits hold for clients to come.
    ServiceChange change(ServiceConfig config);

    [[nodiscard]] nbd::Server& server() { return server_; }
    [[nodiscard]] const nbd::Server& server() const { return server_; }

    /// A line for each export and address: the device's name and the URI. Only those named, unless
    /// there are none.
    void announce(const std::vector<std::string>& names = {}) const;

  private:
    using Listening = std::pair<ListenAddress, nbd::Uri>;

    nbd::ExportOptions open(const ExportConfig& exp, int preferred_instance);
    nbd::Uri listen(const ListenAddress& address);
    [[nodiscard]] std::vector<ListenAddress> addresses(const ServiceConfig& config) const;
    std::vector<Listening> listen_on_new(const std::vector<ListenAddress>& wanted);
    void stop_listening_unless(const std::vector<ListenAddress>& wanted);

    ServiceConfig config_;
    bool listens_itself_;  // and not on sockets that it was given
    nbd::Server server_;
    std::vector<Listening> listening_;
};

}  // namespace blkscope
