#include "client.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace blkscope::simulation {
namespace {

using nbd::Chunk;
using nbd::Command;
using nbd::Error;
using nbd::ReplyForm;

constexpr uint64_t look_ns_max = 3'000;
constexpr uint64_t rare_stream = 0x72617265;
constexpr uint64_t cut_extent_bytes_min = 0xffff0000;  // a longer extent may be cut
constexpr uint64_t wide_stream = 0x77696465;

template <class T>
T load(const std::byte* from) {
    return nbd::load_be<T>(std::span<const std::byte, sizeof(T)>(from, sizeof(T)));
}

}  // namespace

Client::Client(const World& world, Random random, const ClientPlan& plan,
               const Invitation& invitation)
    : timeline_(world.timeline),
      random_(random),
      rare_(Random(random).next(), rare_stream),
      plan_(plan),
      introduction_(invitation, random_),
      oracle_(world.oracle),
      judge_(world.judge),
      first_cookie_(random_.next() + (plan.visit << 48)),
      next_cookie_(first_cookie_) {
    shares = plan_.shares;
    if (!plan_.wide) return;
    wide_.emplace(Random(next_cookie_, wide_stream), plan_.first_byte, oracle_.bytes(),
                  *plan_.wide);
}

Client::~Client() {
    *alive_ = false;
    if (!closed_ && socket_) socket_->changed = nullptr;
}

void Client::start(std::shared_ptr<SimulatedSocket> socket) {
    assert(socket != nullptr && !socket_ && !closed_);
    came_ = timeline_.now();
    socket_ = std::move(socket);
    socket_->changed = [this] { look_soon(1); };
    look_soon(static_cast<hrtime_t>(random_.between(1, 50'000)));
}

void Client::close(bool reset) {
    if (closed_) return;
    closed_ = true;
    over_ = true;
    if (socket_) socket_->close(reset);
}

std::string Client::describe() const {
    static constexpr const char* manners[] = {"honest",  "stalling", "vanishing",
                                              "garbage", "half",     "wrong record"};
    return std::string(manners[static_cast<size_t>(plan_.manner)]) + " client, form " +
           std::to_string(static_cast<int>(plan_.form)) + ", made " + std::to_string(made_) +
           ", unanswered " + std::to_string(asked_.size());
}

void Client::complain(const std::string& what) {
    judge_.fail(describe() + ": " + what);
}

void Client::look_soon(hrtime_t delay) {
    if (look_is_due_ || closed_) return;
    look_is_due_ = true;
    timeline_.after(delay, [this, alive = alive_] {
        if (!*alive) return;
        look_is_due_ = false;
        if (!closed_) look();
    });
}

void Client::look() {
    if (!reads_no_more_) take();
    if (closed_ || over_) return;
    if (is_in()) make_requests();
    push();
    finish();
}

// ---- Replies ----

void Client::take() {
    std::vector<std::byte> part(random_.between(1, plan_.take_bytes_max));
    const bool decrypts = tls_ && !awaits_end_;
    const int64_t result = decrypts ? tls_->receive(part) : socket_->receive(part);
    if (tls_ && tls_->was_negotiated_anew()) complain("TLS was negotiated anew");
    if (result == -EAGAIN) return;
    if (result <= 0) return closed(result);
    timeline_.note(static_cast<uint64_t>(result));
    if (awaits_end_) {
        said_why_ = true;  // an alert is not the end
        return look_soon(1);
    }
    if (tls_) timeline_.note(tls_->digest());
    if (plan_.barred) complain("accepted, but its address is not allowed");
    heard_ = true;
    in_.insert(in_.end(), part.begin(), part.begin() + result);
    if (!is_in()) shake_hands();
    while (!closed_ && is_in() && parse_one()) {
    }
    if (in_first_ > in_.size() / 2) {
        in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(in_first_));
        in_first_ = 0;
    }
    const uint64_t pause = static_cast<uint64_t>(plan_.pause_ns_max);
    if (!closed_) look_soon(static_cast<hrtime_t>(1 + random_.below(pause + look_ns_max)));
}

void Client::shake_hands() {
    while (!is_in() && in_first_ < in_.size()) {
        const size_t taken = introduction_.hear(&in_[in_first_], in_.size() - in_first_, out_);
        if (taken == 0) break;
        in_first_ += taken;
        assert(in_first_ <= in_.size());
        if (introduction_.tls_begun() && !tls_) {
            tls_ = std::make_unique<TlsStream>(socket_, plan_.tls.old_version);
            const bool at_once =
                plan_.manner == ClientPlan::Manner::wrong_record && plan_.tls.at_once;
            if (at_once) return misuse_tls();
        }
    }
    if (!introduction_.complaint().empty()) return complain(introduction_.complaint());
    if (introduction_.refused()) {
        if (!may_be_closed_ && !introduction_.must_fail()) complain("its export is unknown");
        return close(false);
    }
    if (!is_in()) return;
    if (in_first_ != in_.size()) complain("a reply before its first request");
    if (plan_.entry_ns_max > 0 && timeline_.now() - came_ > plan_.entry_ns_max) {
        complain("waited for " + std::to_string(timeline_.now() - came_) +
                 " ns for its handshake, longer than " + std::to_string(plan_.entry_ns_max));
    }
}

void Client::closed(int64_t result) {
    const bool refused = plan_.barred || (heard_ && introduction_.must_fail());
    const bool expected =
        may_be_closed_ || misbehaved_ || refused || (disconnected_ && asked_.empty());
    if (!expected) {
        complain("closed with " + std::to_string(result) + ", " +
                 (disconnected_ ? "after its disconnect" : "before its disconnect"));
    }
    // A reset may have overtaken it.
    if (awaits_alert_ && !said_why_ && result == 0 && !may_be_closed_) {
        complain("no alert for a wrong record");
    }
    const bool in_order = disconnected_ && honest() && !may_be_closed_;
    if (tls_ && in_order && !tls_->was_ended()) complain("the end of its TLS was not told");
    close(false);
}

bool Client::chunked(const Asked& asked) const {
    if (plan_.form == ReplyForm::simple) return false;
    if (plan_.form == ReplyForm::extended) return true;
    return asked.request.type == Command::read || asked.request.type == Command::block_status;
}

Client::Asked* Client::find(uint64_t cookie) {
    const auto found = asked_.find(cookie);
    if (found == asked_.end()) {
        complain("a reply without a request, or a second reply");
        close(true);
        return nullptr;
    }
    return &found->second;
}

bool Client::parse_one() {
    const size_t there = in_.size() - in_first_;
    if (there < sizeof(uint32_t)) return false;
    const auto magic = load<uint32_t>(&in_[in_first_]);
    if (magic == nbd::simple_reply_magic && plan_.form != ReplyForm::extended) {
        return parse_simple();
    }
    if (magic == nbd::structured_reply_magic && plan_.form == ReplyForm::structured) {
        return parse_chunk(false);
    }
    if (magic == nbd::extended_reply_magic && plan_.form == ReplyForm::extended) {
        return parse_chunk(true);
    }
    complain("wrong magic in a reply");
    close(true);
    return false;
}

bool Client::parse_simple() {
    const size_t there = in_.size() - in_first_;
    if (there < nbd::simple_reply_bytes) return false;
    const std::byte* from = &in_[in_first_];
    const auto error = static_cast<Error>(load<uint32_t>(from + 4));
    const auto cookie = load<uint64_t>(from + 8);
    Asked* const asked = find(cookie);
    if (asked == nullptr) return false;
    if (chunked(*asked)) complain("a simple reply after chunks were negotiated");
    size_t bytes = nbd::simple_reply_bytes;
    if (asked->request.type == Command::read && error == Error::none) {
        bytes += asked->request.length;
        if (there < bytes) return false;
        std::memcpy(asked->data.data(), from + nbd::simple_reply_bytes, asked->request.length);
        asked->covered = asked->request.length;
    }
    in_first_ += bytes;
    answered(cookie, error);
    return true;
}

bool Client::parse_chunk(bool extended) {
    const size_t there = in_.size() - in_first_;
    const size_t head = extended ? nbd::extended_reply_bytes : nbd::structured_reply_bytes;
    if (there < head) return false;
    const std::byte* from = &in_[in_first_];
    const auto flags = load<uint16_t>(from + 4);
    const auto type = static_cast<Chunk>(load<uint16_t>(from + 6));
    const auto cookie = load<uint64_t>(from + 8);
    const uint64_t bytes = extended ? load<uint64_t>(from + 24) : load<uint32_t>(from + 16);
    Asked* const asked = find(cookie);
    if (asked == nullptr) return false;
    if ((flags & ~nbd::chunk_flag::done) != 0) complain("an unknown flag of a chunk");
    if (extended && load<uint64_t>(from + 16) != asked->request.offset) {
        complain("a chunk with the offset of another request");
    }
    if (bytes > asked->request.length + 65536) {
        complain("a chunk longer than its request");
        close(true);
        return false;
    }
    if (there < head + bytes) return false;
    const std::span<const std::byte> payload(from + head, bytes);
    Error error = Error::none;
    if (type == Chunk::error || type == Chunk::error_offset) {
        if (bytes < 6) return complain("an error without a number"), false;
        error = static_cast<Error>(load<uint32_t>(payload.data()));
        take_error(*asked, type, payload);
    } else {
        take_chunk(*asked, type, payload);
    }
    in_first_ += head + bytes;
    const bool done = (flags & nbd::chunk_flag::done) != 0;
    if (type == Chunk::none && !done) complain("an empty chunk that is not the last");
    if (error == Error::none && asked->failed && type != Chunk::none) {
        complain("more of a reply after its error");
    }
    if (done) answered(cookie, error);
    return true;
}

// An offset stands only in the error of a read that the device could not do.
void Client::take_error(Asked& asked, Chunk type, std::span<const std::byte> payload) {
    const nbd::Request& request = asked.request;
    const bool offset = type == Chunk::error_offset;
    const size_t text_bytes = load<uint16_t>(&payload[4]);
    asked.failed = true;
    if (load<uint32_t>(payload.data()) == 0) complain("an error chunk with error 0");
    if (payload.size() != 6 + text_bytes + (offset ? 8 : 0)) complain("an error of a wrong length");
    if (!offset) return;
    if (request.type != Command::read || (asked.refusal != Error::none && !asked.in_device)) {
        return complain("an offset in the error of a request that moves no data");
    }
    const auto at = load<uint64_t>(&payload[6 + text_bytes]);
    if (at < request.offset || at - request.offset >= request.length) {
        complain("an error outside of the requested range");
    }
    if (asked.in_device && at != request.offset) complain("a refusal within the range");
    asked.failed_at = at;
}

void Client::take_chunk(Asked& asked, Chunk type, std::span<const std::byte> payload) {
    const nbd::Request& request = asked.request;
    const bool extended = plan_.form == ReplyForm::extended;
    if (type == Chunk::none) {
        if (request.type == Command::read || request.type == Command::block_status) {
            complain("an empty chunk for a read or a block status");
        }
        return;
    }
    if (type == Chunk::block_status || type == Chunk::block_status_ext) {
        if (extended != (type == Chunk::block_status_ext)) complain("the wrong block status");
        return take_extents(asked, payload, extended);
    }
    const bool hole = type == Chunk::offset_hole;
    if ((!hole && type != Chunk::offset_data) || request.type != Command::read ||
        payload.size() < (hole ? 12U : 9U)) {
        return complain("a chunk of an unexpected type");
    }
    const auto at = load<uint64_t>(payload.data());
    const uint64_t bytes = hole ? load<uint32_t>(payload.data() + 8) : payload.size() - 8;
    if (at < request.offset || at - request.offset > request.length ||
        bytes > request.length - (at - request.offset)) {
        return complain("data outside of the requested range");
    }
    const auto after = asked.chunks.lower_bound(at);
    if ((after != asked.chunks.end() && after->first < at + bytes) ||
        (after != asked.chunks.begin() && std::prev(after)->second > at)) {
        return complain("the same bytes in two chunks");
    }
    asked.chunks[at] = at + bytes;
    std::byte* const to = asked.data.data() + (at - request.offset);
    if (hole) {
        std::memset(to, 0, bytes);
    } else {
        std::memcpy(to, payload.data() + 8, bytes);
    }
    asked.covered += bytes;
}

void Client::take_extents(Asked& asked, std::span<const std::byte> payload, bool extended) {
    const size_t head = extended ? 8 : 4;
    const size_t each = extended ? 16 : 8;
    if (asked.request.type != Command::block_status || payload.size() < head + each ||
        (payload.size() - head) % each != 0) {
        return complain("malformed extents");
    }
    if (load<uint32_t>(payload.data()) != introduction_.context_id()) {
        complain("a block status of another context");
    }
    if (extended && load<uint32_t>(&payload[4]) != (payload.size() - head) / each) {
        complain("another number of extents than there are");
    }
    for (size_t at = head; at < payload.size(); at += each) {
        const uint64_t bytes =
            extended ? load<uint64_t>(&payload[at]) : load<uint32_t>(&payload[at]);
        const uint64_t flags =
            extended ? load<uint64_t>(&payload[at + 8]) : load<uint32_t>(&payload[at + 4]);
        if (bytes == 0) complain("an empty extent");
        if (flags > 3) complain("an unknown flag of an extent");
        if (bytes > asked.request.length - asked.covered) {
            return complain("extents beyond the requested range");
        }
        const Oracle::Told told{bytes, (flags & 1) != 0, (flags & 2) != 0};
        if (!asked.extents.empty() && asked.extents.back().hole == told.hole &&
            asked.extents.back().zero == told.zero) {
            complain("two neighbouring extents with one status");
        }
        asked.extents.push_back(told);
        asked.covered += bytes;
    }
}

void Client::answered(uint64_t cookie, Error error) {
    const auto found = asked_.find(cookie);
    assert(found != asked_.end());
    const Asked asked = std::move(found->second);
    asked_.erase(found);
    const nbd::Request& request = asked.request;
    const hrtime_t now = timeline_.now();
    const bool good = error == Error::none;
    ++judge_.answers;
    ++answered_;
    timeline_.note(request.cookie ^ static_cast<uint64_t>(error));
    if (asked.sent == 0) complain("a reply before its request was sent");
    if (plan_.wait_ns_max > 0 && now - asked.sent > plan_.wait_ns_max) {
        complain("waited for " + std::to_string(now - asked.sent) + " ns, longer than " +
                 std::to_string(plan_.wait_ns_max));
    }
    if (error != asked.refusal && asked.refusal != Error::none) {
        return complain("a wrong request got error " + std::to_string(static_cast<int>(error)) +
                        ", not " + std::to_string(static_cast<int>(asked.refusal)));
    }
    if (asked.write != 0) {
        const bool stable = (request.flags & nbd::command_flag::fua) != 0 && !plan_.lies;
        oracle_.end_write(asked.write, good, stable, now);
    }
    const bool enters = asked.refusal == Error::none && !is_refused_at_once(request);
    if (enters) answers.push_back({request, error, asked.made, now});
    if (judge_told(asked, error)) return;
    if (!good) return judge_error(asked, error);
    const bool through = asked.write != 0 && (request.flags & nbd::command_flag::fua) != 0;
    if ((through || request.type == Command::flush) && oracle_.must_fail(asked.made)) {
        return complain("a flush or FUA write succeeded long after a failed sync");
    }
    if (must_decline(request)) {
        return complain("a zeroing that cannot be fast was not declined");
    }
    if (request.type == Command::flush && !plan_.lies) {
        const std::string lost = oracle_.flushed(asked.made, now);
        if (!lost.empty()) complain("not on the disk after a flush: " + lost);
    }
    if (request.type == Command::cache && plan_.read_ahead &&
        !plan_.read_ahead->was_advised(request.offset, request.length)) {
        return complain("a cache request has not read all of its range ahead");
    }
    for (Share& share : shares) {
        if (!share.holds(request.offset, request.length)) continue;
        share.reads += request.type == Command::read ? 1 : 0;
        share.writes += request.type == Command::write ? 1 : 0;
    }
    if (request.type == Command::write) {
        ++writes;
        written_bytes += request.length;
    }
    if (request.type == Command::read) {
        ++reads;
        read_bytes += request.length;
    }
    const std::string wrong = check_data(asked, now);
    if (!wrong.empty()) complain(wrong);
}

std::string Client::check_data(const Asked& asked, hrtime_t now) const {
    const nbd::Request& request = asked.request;
    if (request.type == Command::block_status) {
        const bool one = (request.flags & nbd::command_flag::req_one) != 0;
        if (asked.extents.empty()) return "a block status without an extent";
        if (one && asked.extents.size() != 1) return "more than the one extent that was asked for";
        const std::string short_of =
            plan_.elsewhere != nullptr
                ? ""
                : check_reach(oracle_, request, asked.extents, plan_.form == ReplyForm::extended);
        if (!short_of.empty()) return "a block status " + short_of;
        if (!plan_.content) {
            return asked.extents[0].hole && asked.extents[0].zero ? "" : "a null disk with data";
        }
        std::string wrong = oracle_.check_status(request.offset, asked.extents, asked.made, now);
        if (wrong.empty() && asked.covered < request.length &&
            asked.extents.back().bytes < cut_extent_bytes_min) {
            wrong =
                oracle_.check_end(request.offset + asked.covered, asked.extents.back(), asked.made);
        }
        return wrong.empty() ? "" : "block status: " + wrong;
    }
    if (request.type != Command::read) return {};
    if (asked.covered != request.length) return "data is missing, or came twice";
    if ((request.flags & nbd::command_flag::df) != 0 && asked.chunks.size() > 1) {
        return "data in fragments, which the request forbids";
    }
    if (!plan_.content) return {};
    const std::string wrong = oracle_.check_read(request.offset, asked.data, asked.made, now);
    return wrong.empty() ? "" : "read: " + wrong;
}

// True for a fast zeroing that this disk could do only by writing the zeroes.
bool Client::must_decline(const nbd::Request& request) const {
    if ((request.flags & nbd::command_flag::fast_zero) == 0 || plan_.zeroes_in_place) return false;
    return (request.flags & nbd::command_flag::no_hole) != 0 || !plan_.punches;
}

// A client that asked for the sizes must not make a larger request. For others it is split.
bool Client::is_too_large(const nbd::Request& request) const {
    return plan_.elsewhere != nullptr && introduction_.asked_for_sizes() &&
           moves_data(request.type) && request.length > plan_.elsewhere->piece_bytes_max();
}

// A client cannot ask for a block status that is not offered, or change what is read-only.
bool Client::is_refused_at_once(const nbd::Request& request) const {
    if (plan_.elsewhere == nullptr) return false;
    const bool read_only = plan_.elsewhere->offers(nbd::transmission_flag::read_only);
    return is_too_large(request) || (changes(request.type) && read_only) ||
           (request.type == Command::block_status && !plan_.elsewhere->allocation);
}

Error Client::told_elsewhere(const nbd::Request& request) const {
    if (plan_.elsewhere == nullptr) return Error::none;
    if (is_too_large(request)) return Error::einval;
    if (request.type == Command::block_status && is_refused_at_once(request)) return Error::einval;
    return plan_.elsewhere->told(request);
}

// True for the error of another server, which comes as it is and from its place.
bool Client::judge_told(const Asked& asked, Error error) {
    const Error told = told_elsewhere(asked.request);
    if (told == Error::none || asked.refusal != Error::none) return false;
    if (error == Error::none) {
        complain(text_of(asked.request) + " succeeded, but another server refuses it");
    }
    if (error != told) {
        if (plan_.faulty || is_hung(error)) return false;
        complain("error " + std::to_string(static_cast<int>(error)) + ", but another server's is " +
                 std::to_string(static_cast<int>(told)) + ", of " + text_of(asked.request));
    }
    std::optional<uint64_t> place;
    if (asked.request.type == Command::read && chunked(asked) && !is_too_large(asked.request)) {
        place = plan_.elsewhere->failed_piece(asked.request);
    }
    if (asked.failed_at != place && !is_hung(error)) {
        complain("the failure of a read is said to be in another place than it is");
    }
    ++judge_.refused_elsewhere;
    return true;
}

// A request that a fault lets hang ends with the connection, also if the client ends it. So does one that waits
// for another server.
bool Client::is_hung(Error error) const {
    const bool waited =
        error == Error::eshutdown || (error == Error::eio && plan_.elsewhere != nullptr);
    return waited && (may_be_closed_ || disconnected_ || misbehaved_);
}

// A read in chunks says where it has failed.
void Client::judge_reason(const Asked& asked, Error error) {
    const bool needs_place = asked.request.type == Command::read && chunked(asked);
    if (needs_place && !asked.failed_at) complain("a failed read that does not say where");
    if (explains_ && explains_({asked.request, error, asked.made, asked.failed_at})) return;
    complain("error " + std::to_string(static_cast<int>(error)) +
             (asked.failed_at ? " at " + std::to_string(*asked.failed_at) : "") +
             " without a fault, of " + text_of(asked.request));
}

void Client::judge_error(const Asked& asked, Error error) {
    if (asked.refusal != Error::none) return;
    const bool fast = (asked.request.flags & nbd::command_flag::fast_zero) != 0;
    if (error == Error::enotsup && fast) {
        if (!must_decline(asked.request) && !cut_file_) complain("declined a fast zeroing");
        return;
    }
    if (is_hung(error)) {
        ++judge_.hung_errors;
        return;
    }
    if (plan_.elsewhere == nullptr) judge_reason(asked, error);
    const bool known =
        error == Error::eio || (error == Error::enospc && changes(asked.request.type));
    if (plan_.elsewhere != nullptr && !known) {
        complain("error " + std::to_string(static_cast<int>(error)) + " without a fault, of " +
                 text_of(asked.request));
    }
    if (asked.request.type == Command::flush) {
        ++judge_.sync_errors;
        return;
    }
    ++judge_.other_errors;
    const bool writes_it = asked.request.type != Command::read;
    if (writes_it && (asked.request.flags & nbd::command_flag::fua) != 0) ++judge_.through_errors;
}

}  // namespace blkscope::simulation
