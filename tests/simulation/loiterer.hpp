// Loiterer: a connection without requests, which idles, sends slowly, aborts or sends garbage.
//
// The server must close it within the handshake time, unless it closes first.
//
// Ownership: shares the socket with the server's end; borrows the judge.
// Source:    the NBD protocol document, "Handshake phase".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client.hpp"
#include "random.hpp"
#include "simulated_socket.hpp"
#include "timeline.hpp"

namespace blkscope::simulation {

class Loiterer {
  public:
    enum class Manner : uint8_t {
        idles,
        drips,
        garbage,
        half,
        aborts,
        vanishes,
        long_option,
        asks
    };
    static constexpr uint64_t manners = 8;

    /// `stay_ns_max`: the time until the server must have closed the connection.
    Loiterer(Timeline& timeline, Judge& judge, Random random,
             std::shared_ptr<SimulatedSocket> socket, hrtime_t stay_ns_max);
    ~Loiterer();
    Loiterer(const Loiterer&) = delete;
    Loiterer& operator=(const Loiterer&) = delete;

    void close(bool reset);
    /// Either side has closed.
    [[nodiscard]] bool over() const { return closed_ || socket_->peer_closed(); }

  private:
    void draw_words();
    void look_soon(hrtime_t delay);
    void look();
    void push();

    Timeline& timeline_;
    Judge& judge_;
    Random random_;
    std::shared_ptr<SimulatedSocket> socket_;
    Manner manner_;
    bool reads_;
    std::vector<std::byte> out_;
    size_t out_first_ = 0;
    bool look_is_due_ = false;
    bool closed_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace blkscope::simulation
