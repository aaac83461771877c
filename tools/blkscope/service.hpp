// Service: a server and its configuration, which may change while the server runs.
//
// A change is made in steps, each in a turn of the control thread. Handshakes, readers of kstats and signals come in
// between, however many exports a change adds:
//
//     openings() ─▶ opened in another thread ─▶ change(): one export a turn is made ─▶ all are offered ─▶ done
//
// Threads: the control thread.
// Errors:  the constructor and change() throw std::system_error, std::runtime_error or
//          std::invalid_argument. Later a change gives them to `done`. The old configuration then stays in
//          effect.
#pragma once

#include <exception>
#include <functional>
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

/// A backing, and the partition table that it had when it was opened.
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

    /// The exports that need a new backing. A file's system or another machine may answer late, so the caller opens
    /// them in another thread.
    [[nodiscard]] std::vector<ExportConfig> openings(const ServiceConfig& config) const;

    /// Gets the effect of a change, or the reason why nothing has changed.
    using Changed =
        std::function<void(const ServiceChange& change, const std::exception_ptr& failure)>;

    /// Exports with the same configuration stay, and so do their clients. Other exports are added
    /// or removed. Models, limits, faults and depths change in place: see Adaptation. New limits of
    /// the service apply to new clients.
    /// `opened` has the backings of openings(). `done` is called in a later turn. One change at a time.
    void change(ServiceConfig config, OpenedBackings opened, Changed done);
    /// Drops a change under way, whose `done` is not called any more. Call before stop() of the server.
    void drop_change() { under_way_.reset(); }

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
    /// A change whose exports are being made.
    struct UnderWay {
        ServiceConfig config;
        OpenedBackings opened;
        Changed done;
        nbd::Server::Options limits;
        ServiceChange change;
        nbd::NewExports exports;
        NextInstance next = {};
        size_t looked_at = 0;  // of the configuration's exports
        bool finished = false;
    };
    void go_on_later();
    bool make_next();
    bool finish();
    void log_behaviours();
    [[nodiscard]] ServiceChange difference_to(const ServiceConfig& config) const;
    void replace_useless(const ServiceConfig& config, ServiceChange& change) const;
    std::vector<Adaptation> adaptations(const ServiceConfig& config, ServiceChange& change);
    nbd::Uri listen(const ListenAddress& address);
    [[nodiscard]] std::vector<ListenAddress> addresses(const ServiceConfig& config) const;
    std::vector<Listening> listen_on_new(const std::vector<ListenAddress>& wanted);
    void stop_listening_unless(const std::vector<ListenAddress>& wanted);

    nbd::Executor& executor_;
    ServiceConfig config_;
    bool listens_itself_;  // false if the sockets were given
    nbd::Server server_;
    std::vector<Listening> listening_;
    std::shared_ptr<UnderWay> under_way_;
    std::vector<std::string> opened_;  // lines about exports, to log when all of them are open
};

}  // namespace blkscope
