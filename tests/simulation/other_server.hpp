// OtherServer: a small model of another NBD server, whose connections and memory may be lost. The
// model follows the protocol alone. Of our own code it uses only the headers' layout.
//
//     socket ─▶ request ── waits ──▶ runs in memory ── reply ─▶ socket
//                  │                    │ flush, FUA
//                  │                    ▼
//                  │                  disk ─────────────── restart() ─▶ memory
//                  └─ still runs when its connection has ended, at most `late_ns_max` later
//
// The terms (other_terms.hpp) say what the server offers and refuses. A client that knows them never sends a
// request that they do not allow, in one piece or in several.
//
// Units:     bytes; nanoseconds of virtual time.
// Ownership: owns its ends of the connections.
// Threads:   a single one.
// Errors:    a request that no client should send fails the judge.
// Source:    the NBD protocol document, "Transmission phase".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/nbd/client/remote_export.hpp"
#include "judge.hpp"
#include "other_reply.hpp"
#include "other_terms.hpp"
#include "random.hpp"
#include "simulated_socket.hpp"
#include "timeline.hpp"

namespace blkscope::simulation {

struct OtherPlan {
    uint64_t bytes = 1 << 20;
    hrtime_t run_ns_max = 100'000;  // of most requests
    hrtime_t late_ns_max = 1;       // of a request whose connection has ended
    hrtime_t silent_ns = 0;         // a few requests run this late
    uint64_t silent_one_in = 0;     // of the requests; 0: none
    OtherTerms terms;
    std::vector<std::byte> content;  // empty: zeroes
    uint64_t seed = 0;               // of its manners
};

class OtherServer {
  public:
    OtherServer(Timeline& timeline, Judge& judge, Random random, const OtherPlan& plan);
    ~OtherServer();
    OtherServer(const OtherServer&) = delete;
    OtherServer& operator=(const OtherServer&) = delete;

    // ---- For the dialer ----

    [[nodiscard]] bool is_down() const { return timeline_.now() < up_at_; }
    [[nodiscard]] bool is_stopped() const { return timeline_.now() < goes_on_at_; }
    /// The terms of the next connection.
    [[nodiscard]] nbd::RemoteExport offer();
    /// Takes a connection with the terms. A client has the connections of one `set` at a time.
    void accept(std::shared_ptr<SimulatedSocket> socket, const nbd::RemoteExport& remote,
                uint64_t set);

    // ---- Troubles ----

    /// Closes all connections, perhaps within a message.
    void close_connections();
    /// Closes one of them.
    void close_one_connection();
    /// The process ends with what it was doing. A new one begins after `down_ns`. Without its
    /// memory, each sector that was not flushed may have its old data.
    void restart(bool keeps_memory, hrtime_t down_ns);
    /// The process is stopped, and goes on after `ns`.
    void stop(hrtime_t ns);
    /// Answers all requests of the present connections with ESHUTDOWN.
    void shut_down();
    /// Answers the next request so, and no other.
    void shut_down_once() { refuses_one_ = true; }
    /// Sends random bytes to a client.
    void talk_nonsense();
    /// From now on the export has another size.
    void change_size() { plan_.bytes *= 2; }

    [[nodiscard]] const std::vector<std::byte>& memory() const { return memory_; }
    [[nodiscard]] const OtherTerms& terms() const { return plan_.terms; }
    /// From now on each flush fails.
    void refuse_flushes(nbd::Error error) { plan_.terms.flush_error = error; }
    /// When the first flush was refused; 0: none was.
    [[nodiscard]] hrtime_t flush_refused_at() const { return flush_refused_at_; }

    /// Says what is wrong with a request that a client of ours did not make; empty for a right one. `under_way`
    /// requests of this client are here, including this one.
    std::function<std::string(const nbd::Request& request, size_t under_way)> check_request;

  private:
    struct Connection;
    struct Running;
    using ConnectionRef = std::shared_ptr<Connection>;
    using RunningRef = std::shared_ptr<Running>;

    void look_soon(const ConnectionRef& connection, hrtime_t delay);
    void look(const ConnectionRef& connection);
    void take(const ConnectionRef& connection);
    bool take_request(const ConnectionRef& connection);
    void check(const Connection& connection, const nbd::Request& request);
    void begin(const ConnectionRef& connection, const nbd::Request& request,
               std::span<const std::byte> payload);
    void check_order(const Connection& connection, const nbd::Request& request);
    void run_after(const RunningRef& running, hrtime_t delay);
    void run(const RunningRef& running);
    [[nodiscard]] uint64_t bytes_to_do(const nbd::Request& request);
    void apply(const Running& running, uint64_t bytes_max);
    void put(uint64_t offset, std::span<const std::byte> data);
    void make_stable(uint64_t offset, uint64_t bytes, uint64_t mark);
    [[nodiscard]] std::vector<std::byte> bytes_of(const nbd::Request& request) const;
    [[nodiscard]] std::vector<OtherReply::Extent> extents_of(const nbd::Request& request);
    void reply(const Running& running);
    void reply_to_read(OtherReply& reply, const nbd::Request& request, OtherTerms::Refusal refusal);
    void send(const ConnectionRef& connection, uint64_t cookie, OtherReply& reply);
    void send_later(const ConnectionRef& connection, uint64_t cookie,
                    std::shared_ptr<std::vector<std::vector<std::byte>>> messages, size_t number);
    void answered(const ConnectionRef& connection, uint64_t cookie);
    void lie(const ConnectionRef& connection, const nbd::Request& request);
    [[nodiscard]] uint64_t wrong_cookie(const Connection& connection);
    void watch_lie(const ConnectionRef& connection, unsigned seconds);
    void push(const ConnectionRef& connection);
    void close(const ConnectionRef& connection, bool reset);
    void forget_closed();

    Timeline& timeline_;
    Judge& judge_;
    Random random_;
    OtherPlan plan_;
    Random manners_;  // of its own, so that all else stays as it was
    hrtime_t up_at_ = 0;
    hrtime_t goes_on_at_ = 0;
    std::vector<ConnectionRef> connections_;
    std::vector<RunningRef> running_;
    std::vector<std::byte> memory_;
    std::vector<std::byte> disk_;
    std::vector<uint64_t> unstable_since_;  // of each sector, the number of a change; 0: stable
    std::vector<bool> provisioned_;         // each sector; others are holes
    uint64_t changes_ = 0;
    bool refuses_one_ = false;
    hrtime_t flush_refused_at_ = 0;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace blkscope::simulation
