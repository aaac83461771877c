// Service: a server and its configuration, which may change while the server runs.
//
// Threads: the control thread.
// Errors:  the constructor and change() throw std::system_error, std::runtime_error or
//          std::invalid_argument. If change() throws, the old configuration stays in effect.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blockdev/backing/backing.hpp"
#include "blockdev/device/table_look.hpp"
#include "driver/nbd/server/server.hpp"
#include "tools/blkscope/adaptation.hpp"
#include "tools/blkscope/config.hpp"

namespace blkscope {

/// Connections besides the addresses of the configuration.
struct Door {
    std::vector<int> sockets = {};   // listen already; the configuration then has none
    std::optional<int> client = {};  // the socket of the only client
    int preferred_instance = -1;     // for the first export's device; -1 for any
};

/// A backing on another machine, and the partition table that it had when it was opened.
struct OpenedBacking {
    std::unique_ptr<Backing> backing;
    TableLook look;
};

/// Backings that are open already, by the names of their exports.
using OpenedBackings = std::map<std::string, OpenedBacking>;

/// Opens the backing of an export. Any thread. Throws as open_backing(), and std::invalid_argument for
/// settings that exclude each other.
[[nodiscard]] std::unique_ptr<Backing> open_backing_of(const ExportConfig& exp);

/// The effect of a change, as names of exports.
struct ServiceChange {
    std::vector<std::string> added;
    std::vector<std::string> replaced;
    std::vector<std::string> removed;
    std::vector<std::string> adapted;  // their devices stay, with another model, limit, ...
};

class Service {
  public:
    /// Opens all backings and listens. The caller must call `start()` of the server.
    Service(nbd::Executor& executor, ServiceConfig config, const Door& door);

    /// Exports with the same configuration stay, and so do their clients. Other exports are added
    /// or removed. Models, limits, faults and depths change in place: see Adaptation. New limits of
    /// the service apply to new clients.
    /// `opened_before` has the backings of openings_elsewhere(), and change() opens the others.
    ServiceChange change(ServiceConfig config, OpenedBackings opened_before);
    /// The exports that need a new backing on another machine, which may answer late.
    [[nodiscard]] std::vector<ExportConfig> openings_elsewhere(const ServiceConfig& config) const;

    [[nodiscard]] const ServiceConfig& config() const { return config_; }
    [[nodiscard]] nbd::Server& server() { return server_; }
    [[nodiscard]] const nbd::Server& server() const { return server_; }

    /// A line for each export and address: the device's name and the URI. If `names` is not empty,
    /// only for these exports.
    [[nodiscard]] std::string announcement(const std::vector<std::string>& names = {}) const;

  private:
    using Listening = std::pair<ListenAddress, nbd::Uri>;

    /// Where the search for the number of the next export begins.
    struct NextInstance {
        int preferred = -1;  // -1: none
        int lowest = 0;      // all lower ones are taken
    };
    static kstat::InstanceClaim claim(NextInstance& next);
    nbd::ExportOptions open(const ExportConfig& exp, std::unique_ptr<Backing> backing,
                            NextInstance& next);
    void log_behaviours();
    [[nodiscard]] ServiceChange difference_to(const ServiceConfig& config) const;
    void replace_useless(const ServiceConfig& config, ServiceChange& change) const;
    std::vector<Adaptation> adaptations(const ServiceConfig& config, ServiceChange& change);
    nbd::Uri listen(const ListenAddress& address);
    [[nodiscard]] std::vector<ListenAddress> addresses(const ServiceConfig& config) const;
    std::vector<Listening> listen_on_new(const std::vector<ListenAddress>& wanted);
    void stop_listening_unless(const std::vector<ListenAddress>& wanted);

    ServiceConfig config_;
    bool listens_itself_;  // false if the sockets were given
    nbd::Server server_;
    std::vector<Listening> listening_;
    std::vector<std::string> opened_;  // lines about exports, to log when all of them are open
};

}  // namespace blkscope
