// Reception: checks new clients against the allow list and the limits, and owns their handshakes.
//
//     Listener ─▶ admit ─▶ Negotiation ─▶ negotiated: the owner serves the client
//                   │           └───────▶ ended
//                   └─▶ refused, with a line in the log
//
// There is always room for a new client's handshake. If all places are used, PeerShares chooses one
// handshake to end. So only clients that have negotiated can fill the server.
//
// Ownership: borrows executor, owner, names and log; owns the handshakes and their sockets.
// Threads:   the control thread.
// Errors:    none; a client's failure ends that client only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "driver/nbd/server/allow_list.hpp"
#include "driver/nbd/server/executor.hpp"
#include "driver/nbd/server/listener.hpp"
#include "driver/nbd/server/log_limit.hpp"
#include "driver/nbd/server/negotiation.hpp"
#include "driver/nbd/server/peer_shares.hpp"

namespace blkscope::nbd {

class Reception final : public Listener::Host, private Negotiation::Host {
  public:
    /// The class that serves clients after their handshake.
    class Owner {
      public:
        virtual ~Owner() = default;
        /// The number of connections that it serves.
        [[nodiscard]] virtual size_t served() const = 0;
        [[nodiscard]] virtual uint64_t serial_of(size_t export_index) const = 0;
        /// Serves a negotiated client. The owner owns `socket` and `tls` from here.
        virtual void serve(uint64_t export_serial, const Terms& terms, int socket,
                           std::unique_ptr<TlsSession> tls, const Peer& peer) = 0;
        /// Called after each handshake, successful or not.
        virtual void handshake_ended() = 0;
    };

    struct Rules {
        std::chrono::milliseconds handshake_time{};
        unsigned connections_max = 0;  // handshakes included
        unsigned handshakes_max = 0;
        AllowList allow = {};
        std::shared_ptr<const TlsContext> tls = {};
        ReplyForm replies = ReplyForm::extended;
    };

    /// The exports, as a new client gets them. Always the same object.
    using Names = std::function<const Exports&()>;

    Reception(Executor& executor, Owner& owner, Names names, Rules rules);
    ~Reception() override;
    Reception& operator=(Reception&&) = delete;

    /// Sets the rules for new clients.
    void set_rules(Rules rules);

    void admit(std::unique_ptr<StreamSocket> socket) override;
    /// Ends another handshake to make room. Without another handshake the client is refused.
    void admit_in_need(std::unique_ptr<StreamSocket> socket, int error) override;

    /// Ends all handshakes.
    void close();

    [[nodiscard]] size_t handshakes() const { return negotiations_.size(); }

    /// Writes a line about clients, within LogLimit.
    void log(std::string_view line) override { log_.print(line, executor_.now()); }

  private:
    void negotiated(Negotiation& negotiation, uint64_t export_serial, const Terms& terms,
                    int socket, std::unique_ptr<TlsSession> tls) override;
    void ended(Negotiation& negotiation) override;
    [[nodiscard]] uint64_t serial_of(size_t export_index) const override;

    [[nodiscard]] std::string why_not(const Peer& peer) const;
    [[nodiscard]] bool full() const;
    void end_one_for(const Peer& newcomer);
    void refuse(const Peer& peer, std::string_view why);
    [[nodiscard]] size_t connections() const { return handshakes() + owner_.served(); }

    Executor& executor_;
    Owner& owner_;
    const Names names_;
    Rules rules_;
    std::map<PeerShares::Number, std::shared_ptr<Negotiation>> negotiations_;
    PeerShares shares_;  // of the same handshakes, by number
    PeerShares::Number last_number_ = 0;
    LogLimit log_;
};

}  // namespace blkscope::nbd
