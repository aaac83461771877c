// Client: one NBD client of a life, well behaved or not, and the checks of its replies.
//
// A client performs its handshake (introduction.hpp), makes requests, sends them in pieces and
// receives replies in pieces. A reply must answer a request, be complete and come once. The oracle
// must allow its data.
//
// Units:     bytes; nanoseconds of virtual time.
// Ownership: borrows the oracle and the judge; shares the socket with the server's end.
// Source:    the NBD protocol document, transmission phase.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "failures.hpp"
#include "introduction.hpp"
#include "judge.hpp"
#include "oracle.hpp"
#include "other_terms.hpp"
#include "random.hpp"
#include "records.hpp"
#include "simulated_file.hpp"
#include "simulated_socket.hpp"
#include "simulated_tls.hpp"
#include "timeline.hpp"
#include "wide_requests.hpp"
#include "wrong_requests.hpp"

namespace blkscope::simulation {

/// A range of a disk, and the successful reads and writes within it.
struct Share {
    uint64_t first_byte = 0;
    uint64_t end_byte = 0;
    uint64_t reads = 0;
    uint64_t writes = 0;

    [[nodiscard]] bool holds(uint64_t offset, uint64_t bytes) const {
        return offset >= first_byte && offset + bytes <= end_byte;
    }
};

/// A client within TLS.
struct TlsPlan {
    bool old_version = false;
    unsigned key_updates =
        0;  // more than there is room for the answers to would end the connection
    TlsMisuse misuse = TlsMisuse::garbage;
    bool at_once = false;  // instead of its handshake
    bool quiet = false;    // when all is answered
};

struct ClientPlan {
    /// `wrong_record`: of TLS.
    enum class Manner : uint8_t { honest, stalls, vanishes, garbage, half, wrong_record };
    Manner manner = Manner::honest;
    nbd::ReplyForm form = nbd::ReplyForm::simple;
    unsigned requests = 50;
    unsigned depth = 4;
    unsigned misbehaves_after = 0;    // this number of requests
    hrtime_t think_ns_max = 0;        // pause before more requests
    hrtime_t pause_ns_max = 0;        // pause before it receives replies
    uint64_t take_bytes_max = 65536;  // limit of one receive
    uint64_t request_bytes_max = 16384;
    uint64_t hot_bytes = 65536;  // most requests are in these first bytes
    uint64_t block_bytes = 512;
    unsigned wrong_one_in = 64;         // one request in so many is wrong
    unsigned mix = 0;                   // selects the operations
    hrtime_t wait_ns_max = 0;           // fairness's bound for an answer; 0: not checked
    hrtime_t entry_ns_max = 0;          // the same for the handshake
    uint64_t first_byte = 0;            // the client never writes before this
    std::vector<Share> shares;          // the disk's partitions
    bool content = true;                // reads and block statuses are checked against the oracle
    bool punches = true;                // the disk makes holes, and so has a fast zero
    bool zeroes_in_place = true;        // and one that leaves no hole
    bool barred = false;                // the allow list does not have its address
    bool read_only = false;             // the export is
    uint32_t device_block = 1;          // its offsets and lengths are multiples of it
    uint64_t visit = 0;                 // of the same client; each has other cookies
    bool lies = false;                  // the disk does not keep what it says of flushes
    std::optional<WidePlan> wide = {};  // of a disk beyond 4 GiB
    std::shared_ptr<const SimulatedFile> read_ahead =
        {};  // the file that a cache request reads ahead
    TlsPlan tls;
    /// Of another server, which has the export's bytes; nullptr: our server has them. Outlives the client.
    const OtherTerms* elsewhere = nullptr;
    bool faulty = false;  // requests may fail or hang for other reasons, too
};

class Client {
  public:
    /// The objects that clients share.
    struct World {
        Timeline& timeline;
        Oracle& oracle;
        Judge& judge;
    };

    /// Whether there is a reason for the error of a request.
    using Explains = std::function<bool(const FailedRequest& failed)>;

    Client(const World& world, Random random, const ClientPlan& plan, const Invitation& invitation);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Without it each error is one too many.
    void set_explains(Explains explains) { explains_ = std::move(explains); }

    /// Begins when the client connects.
    void start(std::shared_ptr<SimulatedSocket> socket);

    /// From now on the server may close the connection.
    void may_be_closed() { may_be_closed_ = true; }
    /// Another process has cut the export's file. Half of the later requests are near its end.
    void file_was_cut(std::shared_ptr<const SimulatedFile> file) { cut_file_ = std::move(file); }
    /// Closes the connection at once.
    void close(bool reset);

    [[nodiscard]] bool honest() const { return plan_.manner == ClientPlan::Manner::honest; }
    /// Whether one of the client's requests has had this number.
    [[nodiscard]] bool has_used(uint64_t cookie) const {
        return cookie - first_cookie_ < next_cookie_ - first_cookie_;
    }
    /// All was answered, or the connection was closed for a reason, or the client has misbehaved.
    /// One with a wrong record is over when the server has closed the connection, within a handshake earlier.
    [[nodiscard]] bool over() const {
        return over_ || (misbehaved_ && !honest() && !(awaits_end_ && is_in()));
    }
    [[nodiscard]] bool is_closed() const { return closed_; }
    [[nodiscard]] bool is_in() const { return introduction_.done(); }
    /// Null before start().
    [[nodiscard]] const SimulatedSocket* socket() const { return socket_.get(); }
    /// The server has accepted the connection or closed it.
    [[nodiscard]] bool was_admitted() const { return heard_ || over_; }
    [[nodiscard]] unsigned unanswered() const { return static_cast<unsigned>(asked_.size()); }
    [[nodiscard]] uint64_t answered() const { return answered_; }
    [[nodiscard]] const ClientPlan& plan() const { return plan_; }
    [[nodiscard]] std::string describe() const;

    /// Whether one of its requests without an answer is one that `is_it` knows.
    template <class IsIt>
    [[nodiscard]] bool has_asked(IsIt is_it) const {
        return std::any_of(asked_.begin(), asked_.end(),
                           [&](const auto& each) { return is_it(each.second.request); });
    }

    // Successful requests, to compare with the device's counters.
    uint64_t reads = 0;
    uint64_t writes = 0;
    uint64_t read_bytes = 0;
    uint64_t written_bytes = 0;
    std::vector<Share> shares;    // the same requests, within each partition
    std::vector<Answer> answers;  // of all requests that the protocol allows

  private:
    struct Asked {
        nbd::Request request;
        uint32_t write = 0;                     // the write's number in the oracle
        nbd::Error refusal = nbd::Error::none;  // of a wrong request
        hrtime_t made = 0;
        hrtime_t sent = 0;     // the time of its last byte
        uint64_t end = 0;      // position in the stream
        uint64_t covered = 0;  // received bytes of a read
        bool failed = false;
        std::optional<uint64_t> failed_at;    // as its error says
        bool in_device = false;               // the device refuses the wrong request
        std::map<uint64_t, uint64_t> chunks;  // of a read's data: the end by the beginning
        std::vector<Oracle::Told> extents;
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
    void take_error(Asked& asked, nbd::Chunk type, std::span<const std::byte> payload);
    void take_extents(Asked& asked, std::span<const std::byte> payload, bool extended);
    [[nodiscard]] std::string check_data(const Asked& asked, hrtime_t now) const;
    [[nodiscard]] bool must_decline(const nbd::Request& request) const;
    Asked* find(uint64_t cookie);
    void answered(uint64_t cookie, nbd::Error error);
    void judge_error(const Asked& asked, nbd::Error error);
    void judge_reason(const Asked& asked, nbd::Error error);
    [[nodiscard]] bool is_refused_at_once(const nbd::Request& request) const;
    [[nodiscard]] bool is_hung(nbd::Error error) const;
    [[nodiscard]] bool is_too_large(const nbd::Request& request) const;
    [[nodiscard]] nbd::Error told_elsewhere(const nbd::Request& request) const;
    bool judge_told(const Asked& asked, nbd::Error error);
    [[nodiscard]] bool chunked(const Asked& asked) const;

    void make_requests();
    nbd::Request draw_request();
    void move_to_end(nbd::Request& request);
    std::pair<nbd::Request, nbd::Error> draw_wrong_request();
    nbd::Request draw_rare_form(nbd::Request request);
    void put(const nbd::Request& request, nbd::Error refusal);
    void put_wrong(const WrongRequest& wrong);
    void put_status_by_payload(Asked asked);
    void enter(Asked asked, std::span<const std::byte> payload);
    void put_header(const nbd::Request& request);
    void misbehave();
    void misuse_tls();
    void push();
    void finish();
    void complain(const std::string& what);

    Timeline& timeline_;
    Random random_;
    Random rare_;  // of its own, so that all else stays as it was
    const ClientPlan plan_;
    std::optional<WideRequests> wide_;  // as the plan's
    Introduction introduction_;
    hrtime_t came_ = 0;
    std::shared_ptr<SimulatedSocket> socket_;  // null before start()
    std::unique_ptr<TlsStream> tls_;           // null before STARTTLS
    Oracle& oracle_;
    Judge& judge_;
    std::shared_ptr<const SimulatedFile> cut_file_;  // null before file_was_cut()

    Explains explains_;
    std::map<uint64_t, Asked> asked_;  // by cookie
    uint64_t first_cookie_;
    uint64_t next_cookie_;
    unsigned made_ = 0;
    uint64_t answered_ = 0;
    std::vector<std::byte> out_;
    size_t out_first_ = 0;
    uint64_t out_pushed_ = 0;  // of the stream
    std::vector<std::byte> in_;
    size_t in_first_ = 0;
    bool heard_ = false;  // any byte
    bool look_is_due_ = false;
    bool may_be_closed_ = false;
    bool misbehaved_ = false;
    unsigned key_updates_ = 0;
    bool awaits_end_ = false;    // the server must close the connection
    bool awaits_alert_ = false;  // and say why
    bool said_why_ = false;      // something came since
    bool reads_no_more_ = false;
    bool disconnected_ = false;
    bool over_ = false;
    bool closed_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace blkscope::simulation
