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

constexpr uint64_t one_gift_in = 8;  // pushes that are cut short
constexpr size_t out_bytes_max = 1 << 20;
constexpr uint64_t look_ns_max = 3'000;
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
    if (result == -EAGAIN) return;
    if (result <= 0) return closed(result);
    timeline_.note(static_cast<uint64_t>(result));
    if (awaits_end_) return look_soon(1);  // an alert is not the end
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
    if ((flags & nbd::chunk_flag::done) != 0) answered(cookie, error);
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
    if (request.type != Command::read || asked.refusal != Error::none) {
        return complain("an offset in the error of a request that moves no data");
    }
    const auto at = load<uint64_t>(&payload[6 + text_bytes]);
    if (at < request.offset || at - request.offset >= request.length) {
        complain("an error outside of the requested range");
    }
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
        const std::string wrong =
            oracle_.check_status(request.offset, asked.extents, asked.made, now);
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
    const bool moves_to = asked.request.type == Command::write ||
                          asked.request.type == Command::write_zeroes ||
                          asked.request.type == Command::trim;
    if (error != Error::eio && !(error == Error::enospc && moves_to)) {
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

// ---- Requests ----

void Client::make_requests() {
    while (!disconnected_ && !misbehaved_ && made_ < plan_.requests &&
           asked_.size() < plan_.depth && out_.size() - out_first_ < out_bytes_max) {
        if (!honest() && made_ >= plan_.misbehaves_after) return misbehave();
        const bool wrong = random_.one_in(plan_.wrong_one_in);
        const auto [request, refusal] =
            wrong ? draw_wrong_request() : std::pair(draw_request(), Error::none);
        put(request, refusal);
        ++made_;
        if (plan_.think_ns_max > 0) {
            const auto pause = static_cast<uint64_t>(plan_.think_ns_max);
            look_soon(static_cast<hrtime_t>(random_.between(1, pause)));
            return;
        }
    }
}

nbd::Request Client::draw_request() {
    static constexpr Command mixes[4][8] = {
        {Command::read, Command::write, Command::write, Command::read, Command::flush,
         Command::trim, Command::write_zeroes, Command::block_status},
        {Command::write, Command::write, Command::flush, Command::write, Command::flush,
         Command::write_zeroes, Command::read, Command::trim},
        {Command::read, Command::read, Command::read, Command::read, Command::read, Command::write,
         Command::cache, Command::write},
        {Command::write, Command::read, Command::write, Command::read, Command::write,
         Command::read, Command::write, Command::read}};
    nbd::Request request;
    request.type = mixes[plan_.mix % 4][random_.below(8)];
    if (request.type == Command::block_status && plan_.form == ReplyForm::simple) {
        request.type = Command::read;
    }
    if (request.type == Command::flush) return request;
    const uint64_t block = plan_.block_bytes;
    const uint64_t all = oracle_.bytes() - plan_.first_byte;
    const uint64_t space = random_.one_in(4) ? all : plan_.hot_bytes;
    const uint64_t blocks = std::min(space, all) / block;
    const uint64_t most = std::min(blocks, plan_.request_bytes_max / block);
    const uint64_t length = random_.one_in(2) ? random_.between(1, std::min<uint64_t>(most, 8))
                                              : random_.between(1, most);
    request.offset = plan_.first_byte + random_.below(blocks - length + 1) * block;
    request.length = length * block;
    if (cut_file_ && random_.one_in(2)) move_to_end(request);
    const bool writes_it = request.type == Command::write || request.type == Command::trim ||
                           request.type == Command::write_zeroes;
    if (writes_it && random_.one_in(5)) request.flags |= nbd::command_flag::fua;
    if (request.type == Command::write_zeroes) {
        if (random_.one_in(3)) request.flags |= nbd::command_flag::no_hole;
        if (random_.one_in(6)) request.flags |= nbd::command_flag::fast_zero;
    }
    if (request.type == Command::read && plan_.form != ReplyForm::simple && random_.one_in(8)) {
        request.flags |= nbd::command_flag::df;
    }
    if (request.type == Command::block_status && random_.one_in(3)) {
        request.flags |= nbd::command_flag::req_one;
    }
    if (wide_) wide_->change(request);
    return request;
}

// The file may end within a page, and no write to the rest of that page may be lost.
void Client::move_to_end(nbd::Request& request) {
    constexpr uint64_t blocks_near = 8;
    const uint64_t block = plan_.block_bytes;
    const uint64_t near = blocks_near * block;
    const uint64_t end = std::max(cut_file_->length() / block * block, plan_.first_byte + near);
    request.length = random_.between(1, blocks_near / 2) * block;
    request.offset = end - near + random_.below(2 * blocks_near) * block;
    request.offset = std::min(request.offset, oracle_.bytes() - request.length);
}

// A request that the protocol forbids, and the error that its document names for it.
std::pair<nbd::Request, Error> Client::draw_wrong_request() {
    nbd::Request request;
    request.offset = random_.one_in(4) ? UINT64_MAX - 511 : oracle_.bytes();
    request.length = random_.between(1, plan_.request_bytes_max);
    switch (random_.below(8)) {
        case 0:
            request.type = Command::read;
            return {request, Error::einval};
        case 1:
            request.type = Command{77};
            return {request, Error::einval};
        case 2:
            request.type = Command::trim;
            request.offset = 0;
            request.flags = nbd::command_flag::df;
            return {request, Error::einval};
        case 3:
            request.type = Command::write_zeroes;
            if (wide_) wide_->misplace(request);
            return {request, Error::enospc};
        case 4:  // ends one byte behind the end
            request.type = Command::cache;
            request.offset = oracle_.bytes() - request.length + 1;
            if (wide_) wide_->misplace(request);
            return {request, Error::einval};
        case 5:
            request.type = Command::block_status;
            request.flags = nbd::command_flag::no_hole;
            request.offset = 0;
            return {request, Error::einval};
        case 6:
            request.type = Command::read;
            request.offset = 0;
            request.flags = nbd::command_flag::fast_zero;
            return {request, Error::einval};
        default:
            request.type = Command::write;  // its data follows and is skipped
            return {request, Error::enospc};
    }
}

void Client::put(const nbd::Request& drawn, Error refusal) {
    nbd::Request request = drawn;
    request.cookie = next_cookie_++;
    Asked asked;
    asked.made = timeline_.now();
    asked.refusal = refusal;
    if (refusal == Error::enospc && is_too_large(request)) asked.refusal = Error::einval;
    std::vector<std::byte> payload;
    if (request.type == Command::write) {
        payload.resize(request.length);
        if (plan_.form == ReplyForm::extended) request.flags |= nbd::command_flag::payload_len;
    }
    if (refusal == Error::none) {
        using Effect = Oracle::Effect;
        const bool zeroes = request.type == Command::write_zeroes;
        const bool trims = request.type == Command::trim;
        const bool keeps = (request.flags & nbd::command_flag::no_hole) != 0;
        if (zeroes || trims || request.type == Command::write) {
            const Effect zeroing = keeps ? Effect::kept_zeroes : Effect::zeroes;
            const Effect effect = zeroes ? zeroing : (trims ? Effect::maybe_zeroes : Effect::data);
            asked.write =
                oracle_.begin_write(request.offset, request.length, effect, timeline_.now());
        }
        if (request.type == Command::write) oracle_.fill(asked.write, payload);
        if (request.type == Command::read) asked.data.resize(request.length);
    }
    asked.request = request;
    put_header(request);
    out_.insert(out_.end(), payload.begin(), payload.end());
    asked.end = out_pushed_ + (out_.size() - out_first_);
    asked_.emplace(request.cookie, std::move(asked));
}

void Client::put_header(const nbd::Request& request) {
    const bool extended = plan_.form == ReplyForm::extended;
    std::vector<std::byte> header(extended ? nbd::extended_request_bytes : nbd::request_bytes);
    const auto put = [&]<class T>(size_t at, T value) {
        nbd::store_be<T>(std::span<std::byte, sizeof(T)>(&header[at], sizeof(T)), value);
    };
    put(0, extended ? nbd::extended_request_magic : nbd::request_magic);
    put(4, request.flags);
    put(6, static_cast<uint16_t>(request.type));
    put(8, request.cookie);
    put(16, request.offset);
    if (extended) {
        put(24, request.length);
    } else {
        put(24, static_cast<uint32_t>(request.length));
    }
    out_.insert(out_.end(), header.begin(), header.end());
}

// From here on answers to this client are not checked.
void Client::misbehave() {
    misbehaved_ = true;
    switch (plan_.manner) {
        case ClientPlan::Manner::honest:
            return;
        case ClientPlan::Manner::stalls:
            reads_no_more_ = true;
            return;
        case ClientPlan::Manner::vanishes:
            return close(random_.one_in(2));
        case ClientPlan::Manner::wrong_record:
            if (tls_) return misuse_tls();
            [[fallthrough]];
        case ClientPlan::Manner::garbage:
            for (uint64_t i = random_.between(1, 4096); i > 0; --i) {
                out_.push_back(static_cast<std::byte>(random_.next() & 0xff));
            }
            return;
        case ClientPlan::Manner::half: {
            nbd::Request request;
            request.type = Command::write;
            request.length = std::max<uint64_t>(plan_.request_bytes_max, 512);
            request.length = std::min(request.length, oracle_.bytes());
            if (plan_.form == ReplyForm::extended) request.flags = nbd::command_flag::payload_len;
            put_header(request);
            if (random_.one_in(2)) {
                out_.resize(out_.size() - random_.between(1, 20));
            } else {
                out_.resize(out_.size() + random_.below(request.length));
            }
            return;
        }
    }
}

// Nothing that comes after it is served: a write that the oracle does not know would be found.
void Client::misuse_tls() {
    assert(tls_ != nullptr);
    misbehaved_ = true;
    out_.clear();
    out_first_ = 0;
    const TlsMisuse done = tls_->misuse(plan_.tls.misuse, random_);
    awaits_end_ = done != TlsMisuse::renegotiation;  // which is only declined
    if (!awaits_end_ || !is_in() || plan_.form == ReplyForm::extended) return;
    nbd::Request request;
    request.type = Command::write;
    request.cookie = next_cookie_++;
    request.offset = plan_.first_byte;
    request.length = plan_.block_bytes;
    put_header(request);
    out_.resize(out_.size() + request.length, std::byte{0xee});
}

void Client::push() {
    if (closed_) return;
    if (tls_) tls_->flush();
    // A server that was told the end reads no more, and its last answers would be lost with what is unread.
    const bool updates = tls_ && key_updates_ < plan_.tls.key_updates && !disconnected_;
    if (updates && random_.one_in(one_gift_in)) {
        tls_->update_keys();
        ++key_updates_;
    }
    while (out_first_ < out_.size()) {
        size_t bytes = out_.size() - out_first_;
        const bool part = random_.one_in(one_gift_in);
        if (part) bytes = random_.between(1, bytes);
        const std::span<const std::byte> some(&out_[out_first_], bytes);
        const int64_t result = tls_ ? tls_->send(some) : socket_->send(some);
        if (result == -EAGAIN) return;  // `changed` is called when there is room
        if (result < 0) return;         // closed(): the next receive has the reason
        out_first_ += static_cast<size_t>(result);
        out_pushed_ += static_cast<uint64_t>(result);
        for (auto& [cookie, asked] : asked_) {
            if (asked.sent == 0 && asked.end <= out_pushed_) asked.sent = timeline_.now();
        }
        if (part) return look_soon(static_cast<hrtime_t>(random_.between(1, 20'000)));
    }
    out_.clear();
    out_first_ = 0;
}

void Client::finish() {
    if (closed_ || misbehaved_ || !honest() || !is_in()) return;
    if (made_ < plan_.requests || disconnected_) return;
    const bool waits = asked_.size() > 0;
    const uint64_t way = random_.below(3);
    if (waits && way == 0) return;
    if (way == 2 && waits) return;
    disconnected_ = true;
    if (way == 0) return close(false);
    if (way == 1) {
        nbd::Request request;
        request.type = Command::disc;
        request.cookie = next_cookie_++;
        put_header(request);
        return push();
    }
    if (out_first_ < out_.size()) {
        disconnected_ = false;
        return;
    }
    if (tls_) return close(false);
    socket_->shut_down(false, true);
}

}  // namespace blkscope::simulation
