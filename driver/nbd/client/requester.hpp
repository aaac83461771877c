// Requester: one connection to an NBD server in its transmission phase, on a worker's ring.
//
//     send(request) ─▶ [ waiting ] ─▶ [ in one send ] ─▶ socket     one send at a time, of all that
//                                          │                        waits. None waits for answers
//     owner.answered(request) ◀─ ReplyParser ◀─ socket
//
// Any number of requests may be owed an answer. The owner may limit them.
//
// A server may be slow, broken or hostile. A request without an answer after the patience ends the
// connection, as does each message that makes no sense. A request that has waited before it was sent
// has the rest of the patience, and a quarter at least. So it cannot wait for twice the patience, and
// a good connection has time for an answer.
//
// Units:     bytes; ticks of the ring's clock; the patience in nanoseconds.
// Ownership: owns the connection; borrows each request from send() to answered(), or to its own end.
// Threads:   the ring's worker.
// Errors:    owner.lost() once, with the reason in one line. No request is answered after it.
// Source:    the NBD protocol document, "Transmission phase".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "blockdev/queue/fifo.hpp"
#include "blockdev/ring/alarm.hpp"
#include "blockdev/ring/ring.hpp"
#include "driver/nbd/client/remote_connection.hpp"
#include "driver/nbd/client/reply_parser.hpp"
#include "driver/nbd/transmission/transport.hpp"

namespace blkscope::nbd {

/// A request to a server. The caller fills in `request` but for the cookie, and the memory: `data`
/// of a read, `payload` of a write.
struct RemoteRequest : OwedReply {
    const std::byte* payload = nullptr;  // request.length bytes of a write
    hrtime_t since = 0;                  // when the caller began to wait; 0: when it was sent
    hrtime_t sent = 0;                   // when the socket got its first byte to send
    hrtime_t answered = 0;               // when the last byte of the answer was received

    // Of the requester.
    std::array<std::byte, extended_request_bytes> header{};
    bool in_send = false;  // the socket may still read the header and the payload
    RemoteRequest* next = nullptr;
};

class RequesterOwner {
  public:
    /// The request has its answer, and is the caller's again. Called from Ring::dispatch().
    virtual void answered(RemoteRequest& request) = 0;
    /// The connection is lost; `why` is one line.
    virtual void lost(std::string_view why) = 0;

  protected:
    RequesterOwner& operator=(RequesterOwner&&) = delete;
    ~RequesterOwner() = default;
};

class Requester final : private TransportOwner, private OwedReplies, private Alarm {
  public:
    /// When the requester receives. `while_owed`: without requests it has no operation on its ring,
    /// and may be destroyed. A server that closes meanwhile is noticed late.
    enum class Receives : uint8_t { always, while_owed };

    Requester(RequesterOwner& owner, Ring& ring, RemoteConnection connection, hrtime_t patience_ns,
              Receives receives = Receives::always);
    ~Requester();
    Requester& operator=(Requester&&) = delete;

    /// Sends the request. All requests of a turn are in one system call.
    void send(RemoteRequest& request);

    /// Forgets the requests that were not sent yet, which are the caller's again.
    void drop_unsent();

    /// The requests that are owed an answer, or were not sent yet.
    [[nodiscard]] size_t owed() const { return owed_count_; }

    /// The server's answers are of no use: the connection is lost.
    void give_up(std::string_view why) { lose(why); }

    /// Says goodbye at once if the connection stands. The requester is closed already, and only its
    /// destruction may follow.
    void leave();

    /// Says goodbye if the connection stands, then cuts it. The owner goes on with the ring's turns
    /// until is_closed().
    void close();
    [[nodiscard]] bool is_closed() const;

  private:
    static constexpr size_t pieces_max = 512;
    // A send has at most this much and one request. So a request's time hardly has the sending of others in it.
    static constexpr size_t send_bytes_max = size_t{256} << 10;

    OwedReply* find(uint64_t cookie) override;
    void received(int32_t result) override;
    void sent(int32_t result) override;
    void due() override;

    /// Sends what waits, at the end of the ring's turn.
    class TurnEnd final : public Completion {
      public:
        explicit TurnEnd(Requester& requester) : requester_(requester) {}
        void complete(int32_t result) override;

      private:
        Requester& requester_;
    };

    void owe(RemoteRequest& request);
    void send_waiting();
    void add_piece(const std::byte* from, size_t bytes);
    void send_pieces();
    void receive();
    void take_answers();
    void give_back(RemoteRequest& request);
    [[nodiscard]] bool is_late(const RemoteRequest& request, hrtime_t now) const;
    void lose(std::string_view why);

    RequesterOwner& owner_;
    Ring& ring_;
    const bool extended_;
    const hrtime_t patience_ns_;
    const Receives receives_;
    ReplyParser parser_;
    std::unique_ptr<Transport> transport_;

    Fifo<RemoteRequest, &RemoteRequest::next> waiting_;
    Fifo<RemoteRequest, &RemoteRequest::next> in_send_;
    std::vector<iovec> pieces_;  // of the send under way
    size_t pieces_sent_ = 0;
    size_t bytes_left_ = 0;
    TurnEnd turn_end_{*this};
    bool is_listed_ = false;  // turn_end_ is on its way
    std::array<std::byte, extended_request_bytes> farewell_{};

    struct Slot {
        RemoteRequest* request = nullptr;  // one that is owed an answer
        uint32_t uses = 0;                 // the upper half of the cookie
    };
    std::vector<Slot> slots_;
    std::vector<uint32_t> free_slots_;
    size_t owed_count_ = 0;
    size_t to_come_ = 0;  // of them, without an answer; a send may outlast its answer
    bool lost_ = false;
    bool closing_ = false;
};

}  // namespace blkscope::nbd
