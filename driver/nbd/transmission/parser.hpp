// Parser: turns a client's bytes into requests, and says where their payloads go.
//
//     received(n) ─▶ [ payload's place | rx buffer ] ─▶ next() ─▶ request ─▶ take(place)
//                            ▲                                       │
//                            └────────────── places() ◀──────────────┘
//
//     header ── a write's take() ──▶ payload ── complete ──▶ header
//       │ └──── a refused take() ──▶ skipping ─ complete ──▶ header
//       └────── wrong magic, disconnect ──▶ over
//
// The parser has no socket, clock or ring. Nothing allocates after construction. A request stays in
// the rx buffer until take(), so an owner without room calls next() again later.
//
// Units:     bytes.
// Ownership: owns the rx buffer; borrows a payload's place from take() to Event::payload_complete.
// Threads:   a single one.
// Errors:    a refused request carries an errno. After Event::lost and Event::disconnect there are
//            no more requests.
// Source:    the NBD protocol document, "Transmission phase".
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "driver/nbd/protocol.hpp"
#include "driver/nbd/transmission/request_rules.hpp"

namespace blkscope::nbd {

class Parser {
  public:
    /// Capacity of the rx buffer. A receive brings at most this much beside a payload in its place.
    static constexpr size_t rx_bytes_max = size_t{128} << 10;
    /// A refused write's payload up to this size is read and dropped, so that the next header is
    /// found. A longer payload would waste the client's bandwidth, so the stream ends instead.
    static constexpr uint64_t skip_bytes_max = uint64_t{128} << 20;
    /// After a write of at least this size only one header is read. The next payload is then
    /// received directly into its place.
    static constexpr uint64_t large_write_bytes = 16384;

    enum class Event : uint8_t {
        need_bytes,        // receive into places(), then call received()
        request,           // read incoming(), then call take()
        payload_complete,  // of the request taken last; a refused payload was skipped
        lost,              // wrong magic instead of a header
        disconnect,        // the client has announced its end
    };

    struct Incoming {
        Request header;
        int refusal = 0;             // an errno; 0 if allowed
        uint64_t payload_bytes = 0;  // after the header
        bool ends_stream = false;    // the payload is too long to be skipped
    };

    explicit Parser(const RequestRules& rules);
    Parser& operator=(Parser&&) = delete;

    /// Where the next bytes go: one place or two. Valid until received() or next().
    [[nodiscard]] std::span<const iovec> places();
    /// Records that `bytes` were received, in the order of the places.
    void received(size_t bytes);

    /// The next event. Repeats Event::request until take().
    Event next();
    [[nodiscard]] const Incoming& incoming() const { return incoming_; }

    /// Removes the request from the rx buffer. An allowed request with a payload passes the
    /// payload's place. Event::payload_complete follows when the payload is received or skipped.
    void take(std::byte* place);

    /// True if a stream that ends here cuts no request short.
    [[nodiscard]] bool is_between_requests() const;
    /// A payload is being received or skipped.
    [[nodiscard]] bool is_in_payload() const;
    /// The length of the payload that is received in place; 0 while there is none.
    [[nodiscard]] uint64_t payload_bytes() const { return state_ == State::payload ? total_ : 0; }
    /// The next payload should go directly into its place, so a receive should not be put off.
    [[nodiscard]] bool expects_large_write() const { return after_large_write_; }

  private:
    enum class State : uint8_t { header, payload, skipping, over };

    Event next_request();
    Event refuse_stream(Event why);
    [[nodiscard]] bool begins_wrong() const;
    [[nodiscard]] Result<Request, std::errc> parse_header() const;
    bool find_status_payload();
    Event take_payload();
    Event skip_payload();
    [[nodiscard]] size_t rx_bytes() const { return rx_end_ - rx_begin_; }

    const RequestRules rules_;
    const size_t header_bytes_;
    State state_ = State::header;
    Event last_ = Event::need_bytes;  // in State::over
    bool after_large_write_ = false;

    std::unique_ptr<std::byte[]> rx_;
    size_t rx_begin_ = 0;
    size_t rx_end_ = 0;

    Incoming incoming_;
    size_t incoming_bytes_ = 0;  // in the rx buffer; 0 while no request waits for take()
    std::byte* place_ = nullptr;
    uint64_t total_ = 0;  // of the current payload
    uint64_t done_ = 0;   // received or skipped so far
    std::array<iovec, 2> places_{};
};

}  // namespace blkscope::nbd
