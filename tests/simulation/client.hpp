// Client: one NBD client of a life, well behaved or not, and the check of what it is answered.
//
// A client shakes hands (introduction.hpp), makes requests, puts them on its socket in pieces, and takes replies in pieces. Each reply
// must have been asked for, be whole and come once, and its data must be what the oracle allows.
//
// Units:     bytes; nanoseconds of virtual time.
// Ownership: borrows the oracle and the judge; shares the socket with the server's end.
// Source:    the NBD protocol document, transmission phase.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "introduction.hpp"
#include "oracle.hpp"
#include "random.hpp"
#include "simulated_socket.hpp"
#include "simulated_tls.hpp"
#include "timeline.hpp"

namespace blkscope::simulation {

/// Keeps the first thing that went wrong in a life.
class Judge {
  public:
    void fail(const std::string& what) {
        if (verdict_.empty()) verdict_ = what;
    }
    [[nodiscard]] bool failed() const { return !verdict_.empty(); }
    [[nodiscard]] const std::string& verdict() const { return verdict_; }

    /// A new boot begins.
    void begin() { sync_errors = other_errors = through_errors = 0; }

    // Counts of all clients' answers, of this boot but for the first.
    uint64_t answers = 0;
    uint64_t sync_errors = 0;     // of flushes
    uint64_t other_errors = 0;    // of requests that were not refused
    uint64_t through_errors = 0;  // of those that write through, in the above

  private:
    std::string verdict_;
};

/// A range of a disk, and what was read and written of it by those who got good answers.
struct Share {
    uint64_t first_byte = 0;
    uint64_t end_byte = 0;
    uint64_t reads = 0;
    uint64_t writes = 0;

    [[nodiscard]] bool holds(uint64_t offset, uint64_t bytes) const {
        return offset >= first_byte && offset + bytes <= end_byte;
    }
};

struct ClientPlan {
    enum class Manner : uint8_t { honest, stalls, vanishes, garbage, half };
    Manner manner = Manner::honest;
    nbd::ReplyForm form = nbd::ReplyForm::simple;
    unsigned requests = 50;
    unsigned depth = 4;
    unsigned misbehaves_after = 0;    // so many requests
    hrtime_t think_ns_max = 0;        // before it makes more
    hrtime_t pause_ns_max = 0;        // before it takes replies
    uint64_t take_bytes_max = 65536;  // at a time
    uint64_t request_bytes_max = 16384;
    uint64_t hot_bytes = 65536;  // most requests are to these
    uint64_t block_bytes = 512;
    unsigned wrong_one_in = 64;  // requests that are to be refused
    unsigned mix = 0;            // which operations it likes
    hrtime_t wait_ns_max = 0;    // that fairness allows it for an answer; 0: not looked at
    hrtime_t entry_ns_max = 0;   // the same for the way in
    uint64_t first_byte = 0;     // it leaves alone what lies before
    std::vector<Share> shares;   // the disk's partitions
    bool content = true;         // what it reads is what was written
};

class Client {
  public:
    /// Things that a client shares with others.
    struct World {
        Timeline& timeline;
        Oracle& oracle;
        Judge& judge;
    };

    Client(const World& world, Random random, const ClientPlan& plan, const Invitation& invitation);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// From the moment when it connects.
    void start(std::shared_ptr<SimulatedSocket> socket);

    /// The server may close the connection from now on.
    void may_be_closed() { may_be_closed_ = true; }
    /// Closes the connection at once.
    void leave(bool reset);

    [[nodiscard]] bool honest() const { return plan_.manner == ClientPlan::Manner::honest; }
    /// All was answered, or the connection was closed for a reason, or the client has misbehaved.
    [[nodiscard]] bool over() const { return over_ || (misbehaved_ && !honest()); }
    [[nodiscard]] bool gone() const { return gone_; }
    [[nodiscard]] bool is_in() const { return introduction_.done(); }
    [[nodiscard]] unsigned unanswered() const { return static_cast<unsigned>(asked_.size()); }
    [[nodiscard]] uint64_t answered() const { return answered_; }
    [[nodiscard]] const ClientPlan& plan() const { return plan_; }
    [[nodiscard]] std::string describe() const;

    // Of what succeeded, for the comparison with the device's counters.
    uint64_t reads = 0;
    uint64_t writes = 0;
    uint64_t read_bytes = 0;
    uint64_t written_bytes = 0;
    std::vector<Share> shares;  // of the same requests, those within a partition

  private:
    struct Asked {
        nbd::Request request;
        uint32_t write = 0;  // the oracle's number
        bool to_refuse = false;
        hrtime_t made = 0;
        hrtime_t sent = 0;     // its last byte
        uint64_t end = 0;      // in the stream
        uint64_t covered = 0;  // bytes of a read that have come
        bool failed = false;
        std::vector<std::byte> data;
    };

    void look_soon(hrtime_t delay);
    void look();
    void take();
    void shake_hands();
    void closed(int64_t result);
    bool parse_one();
    bool parse_simple();
    bool parse_chunk(bool extended);
    void take_chunk(Asked& asked, nbd::Chunk type, std::span<const std::byte> payload);
    void take_extents(Asked& asked, std::span<const std::byte> payload, bool extended);
    Asked* find(uint64_t cookie);
    void answered(uint64_t cookie, nbd::Error error);
    void judge_error(const Asked& asked, nbd::Error error);
    [[nodiscard]] bool chunked(const Asked& asked) const;

    void make_requests();
    nbd::Request draw_request();
    nbd::Request draw_wrong_request();
    void put(const nbd::Request& request, bool to_refuse);
    void put_header(const nbd::Request& request);
    void misbehave();
    void push();
    void finish();
    void complain(const std::string& what);

    Timeline& timeline_;
    Random random_;
    const ClientPlan plan_;
    Introduction introduction_;
    hrtime_t came_ = 0;
    std::shared_ptr<SimulatedSocket> socket_;  // null until it comes
    std::unique_ptr<TlsStream> tls_;           // from STARTTLS on
    Oracle& oracle_;
    Judge& judge_;

    std::map<uint64_t, Asked> asked_;  // by cookie
    uint64_t next_cookie_;
    unsigned made_ = 0;
    uint64_t answered_ = 0;
    std::vector<std::byte> out_;
    size_t out_first_ = 0;
    uint64_t out_pushed_ = 0;  // of the stream
    std::vector<std::byte> in_;
    size_t in_first_ = 0;
    bool look_is_due_ = false;
    bool may_be_closed_ = false;
    bool misbehaved_ = false;
    bool reads_no_more_ = false;
    bool said_goodbye_ = false;
    bool over_ = false;
    bool gone_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace blkscope::simulation
