// Servers: the server of each request, with begin and end, first come, first served.
//
//     server 0   ████ 1 ████      ██ 4 ██
//     server 1     ██ 2 ██████ 3 ███
//                                 │
//                                 └ planned end: the next request of this server begins here
//
// A request begins when it might have started, but not before the planned end of the server's last
// request. Lateness of the program therefore never adds up.
// Only an overrun moves a planned end: the backing took longer than the planned time.
//
// Units:     the ticks of the caller's clock.
// Ownership: a value.
// Threads:   one at a time. Requests are given in the order in which they start.
// Errors:    none.
// Source:    Kiefer and Wolfowitz: On the theory of queues with many servers, 1955.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"

namespace blkscope::model {

/// One request's time with a server.
struct Stay {
    uint32_t server = 0;
    hrtime_t begin = 0;
    hrtime_t end = 0;  // planned
};

class Servers {
  public:
    explicit Servers(uint32_t count);

    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(ends_.size()); }
    /// More servers are free at once. With fewer, those with the latest planned ends remain.
    void resize(uint32_t count);

    /// The stay of a request that might have started at `ready`, with the server that is free first.
    Stay take(hrtime_t ready, hrtime_t service);
    /// The same with one certain server.
    Stay take_server(uint32_t server, hrtime_t ready, hrtime_t service);
    /// A request of `server` ended at `end`, after its planned end.
    void overrun(uint32_t server, hrtime_t end);

  private:
    std::vector<hrtime_t> ends_;  // the planned end of each server's last request
};

}  // namespace blkscope::model
