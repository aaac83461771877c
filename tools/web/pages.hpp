// The answers of the server: the routes, and the looks behind them.
//
//     /                  the page; its style and scripts are beside it
//     /metrics           Prometheus text or OpenMetrics; ?device=GLOB, ?kstat=MODULE:INSTANCE:NAME
//     /api/v1/devices    the JSON of iostat -jw since the devices' creation; ?device=GLOB
//     /api/v1/overview   settings, failures, clients and providers: overview.hpp; ?device=GLOB
//     /api/v1/kstat      the JSON of kstat -j; ?match=MODULE:INSTANCE:NAME:STATISTIC
//     /api/v1/stream     events, one look a second
//
// Requests of one turn of the server share a look, and equal ones share a body.
//
// Ownership: owns the readers.
// Threads:   one.
// Errors:    a look that fails is a reply with status 503.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tools/iostat/snapshot.hpp"
#include "tools/web/look.hpp"
#include "tools/web/reader.hpp"
#include "tools/web/request.hpp"
#include "tools/web/response.hpp"

namespace blkscope::web {

class Pages {
  public:
    /// Without `clients_named`, no reply has the program or peer of a client.
    explicit Pages(bool clients_named) : clients_named_(clients_named) {}

    /// Takes a look for no request. The first look opens the providers and lists their kstats, which
    /// takes several times as long as a later one.
    void open();

    [[nodiscard]] Response respond(const Request& request);

    /// The event for all streams: what happened since the last event.
    [[nodiscard]] Body event();

    /// The next request gets a new look.
    void end_turn();

  private:
    [[nodiscard]] Response metrics(const Request& request);
    [[nodiscard]] Response kstat_metrics(const Request& request, const std::string& selector);
    [[nodiscard]] Response devices(const Request& request);
    [[nodiscard]] Response overview(const Request& request);
    [[nodiscard]] Response kstats(const Request& request);
    /// The reply of this turn under that key. The first request for the key makes the reply.
    template <class Make>
    [[nodiscard]] Response kept(const std::string& key, Make make);
    /// The look of this turn. A look with all histograms serves a request that needs fewer.
    [[nodiscard]] const Look& look(bool all_histograms);

    bool clients_named_;
    Reader reader_;
    std::optional<Look> look_;                 // of this turn
    bool has_all_histograms_ = false;          // of look_
    std::map<std::string, Response> replies_;  // of this turn, by their kind; at most a few
    std::optional<iostat::Snapshot> last_;     // of the last event
};

}  // namespace blkscope::web
