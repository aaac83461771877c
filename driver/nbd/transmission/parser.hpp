// Parser: a client's bytes in, its requests and the places of their payloads out.
//
//     received(n) ─▶ [ payload's place | rx buffer ] ─▶ next() ─▶ request ─▶ take(place)
//                            ▲                                       │
//                            └────────────── places() ◀──────────────┘
//
//     header ── a write's take() ──▶ payload ── all there ──▶ header
//       │ └──── a refused take() ──▶ skipping ─ all there ──▶ header
//       └────── wrong magic, disconnect ──▶ over
//
// There is no socket, clock or ring here, and nothing allocates after construction. A request stays
// in the rx buffer until take(): an owner without room for it asks next() again later.
//
// Units:     bytes.
// Ownership: owns the rx buffer; borrows a payload's place from take() to Event::payload_complete.
// Threads:   one.
// Errors:    a request that may not be served has the errno of its refusal. After Event::lost and
//            Event::disconnect nothing more comes.
// Source:    the NBD protocol document, "Transmission phase".
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "driver/nbd/protocol.hpp"
#include "driver/nbd/transmission/request_rules.hpp"

namespace blkscope::nbd {

class Parser {
  public:
    /// Capacity of the rx buffer: what one receive brings at most, payloads in place aside.
    static constexpr size_t rx_bytes_max = size_t{128} << 10;
    /// A refused write's payload up to here is read and dropped, so that the stream stays in step.
    /// The client's bandwidth is worth more than a longer one.
    static constexpr uint64_t skip_bytes_max = uint64_t{128} << 20;
    /// Behind a write of so much only one header is taken: the next payload is received in place.
    static constexpr uint64_t large_write_bytes = 16384;

    enum class Event : uint8_t {
        need_bytes,        // receive into places(), then received()
        request,           // incoming() has it; take() it
        payload_complete,  // of the request taken last; a refused one's is skipped
        lost,              // wrong magic where a header begins
        disconnect,        // the client says that no more comes
    };

    struct Incoming {
        Request header;
        int refusal = 0;             // an errno; 0: to be served
        uint64_t payload_bytes = 0;  // that follow the header
        bool ends_stream = false;    // the payload is too long to be skipped
    };

    explicit Parser(const RequestRules& rules);
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    /// Where the next bytes go, one place or two. Valid until received() or next().
    [[nodiscard]] std::span<const iovec> places();
    /// So many bytes came, in the order of the places.
    void received(size_t bytes);

    /// The next event. The same one again for a request that has not been taken.
    Event next();
    [[nodiscard]] const Incoming& incoming() const { return incoming_; }

    /// Takes the request out of the rx buffer. One with a payload that is not refused brings the
    /// payload's place: payload_complete comes when all of it is there, or skipped.
    void take(std::byte* place);

    /// The end of the stream at this point cuts no request off.
    [[nodiscard]] bool is_between_requests() const;
    /// A payload is coming in, into its place or to be skipped.
    [[nodiscard]] bool is_in_payload() const;
    /// The length of the payload that is received in place; 0 while there is none.
    [[nodiscard]] uint64_t payload_bytes() const { return state_ == State::payload ? total_ : 0; }
    /// The next payload is to be received in place: a receive should not be put off.
    [[nodiscard]] bool expects_large_write() const { return after_large_write_; }

  private:
    enum class State : uint8_t { header, payload, skipping, over };

    Event next_request();
    Event refuse_stream(Event why);
    [[nodiscard]] std::optional<Request> parse_header() const;
    bool find_status_payload();
    Event take_payload();
    Event skip_payload();
    [[nodiscard]] size_t rx_bytes() const { return rx_end_ - rx_begin_; }

    const RequestRules rules_;
    const size_t header_bytes_;
    State state_ = State::header;
    Event last_ = Event::need_bytes;  // when over
    bool after_large_write_ = false;

    std::unique_ptr<std::byte[]> rx_;
    size_t rx_begin_ = 0;
    size_t rx_end_ = 0;

    Incoming incoming_;
    size_t incoming_bytes_ = 0;  // of the rx buffer; 0 while no request waits for take()
    std::byte* place_ = nullptr;
    uint64_t total_ = 0;  // of the payload that comes in
    uint64_t done_ = 0;   // of that
    std::array<iovec, 2> places_{};
};

}  // namespace blkscope::nbd
