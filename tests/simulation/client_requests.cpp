// The requests of a client, right and wrong, and how it sends them.
#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "client.hpp"

namespace blkscope::simulation {
namespace {

using nbd::Command;
using nbd::Error;
using nbd::ReplyForm;

constexpr uint64_t one_gift_in = 8;  // pushes that are cut short
constexpr size_t out_bytes_max = 1 << 20;
constexpr uint64_t rare_each = 8;  // one request in so many has a rare form
constexpr uint64_t wrong_bytes_max = 8192;

}  // namespace

void Client::make_requests() {
    while (!disconnected_ && !misbehaved_ && made_ < plan_.requests &&
           asked_.size() < plan_.depth && out_.size() - out_first_ < out_bytes_max) {
        if (!honest() && made_ >= plan_.misbehaves_after) {
            const bool answered = asked_.empty() && out_first_ == out_.size();
            if (tls_ && plan_.tls.quiet && !answered) return;
            return misbehave();
        }
        const bool wrong = random_.one_in(plan_.wrong_one_in);
        auto [request, refusal] =
            wrong ? draw_wrong_request() : std::pair(draw_request(), Error::none);
        if (wrong && plan_.elsewhere == nullptr && rare_.one_in(2)) {
            put_wrong(
                draw_wrong(rare_, {.form = plan_.form,
                                   .bytes = oracle_.bytes(),
                                   .data_bytes_max = std::min(wrong_bytes_max, oracle_.bytes()),
                                   .block_bytes = plan_.device_block,
                                   .read_only = plan_.read_only,
                                   .context_id = introduction_.context_id()}));
        } else {
            if (plan_.read_only && changes(request.type)) refusal = Error::eperm;
            put(refusal == Error::none ? draw_rare_form(request) : request, refusal);
        }
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
    if (changes(request.type) && random_.one_in(5)) request.flags |= nbd::command_flag::fua;
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

// FUA is allowed on each command, and an empty trim.
nbd::Request Client::draw_rare_form(nbd::Request request) {
    if (plan_.elsewhere != nullptr || !rare_.one_in(rare_each)) return request;
    if (rare_.one_in(2)) request.flags |= nbd::command_flag::fua;
    if (request.type == Command::trim && rare_.one_in(4)) request.length = 0;
    return request;
}

void Client::put_wrong(const WrongRequest& wrong) {
    Asked asked;
    asked.request = wrong.request;
    asked.request.cookie = next_cookie_++;
    asked.refusal = wrong.error;
    asked.in_device = wrong.in_device;
    if (wrong.request.type == Command::write && plan_.form == ReplyForm::extended) {
        asked.request.flags |= nbd::command_flag::payload_len;
    }
    disconnected_ = disconnected_ || wrong.ends_stream;  // the server closes after its answers
    put_header(asked.request);
    enter(std::move(asked), wrong.payload);
}

// The header's length is the payload's, and the payload has the range's.
void Client::put_status_by_payload(Asked asked) {
    nbd::Request header = asked.request;
    header.flags |= nbd::command_flag::payload_len;
    header.length = sizeof(uint64_t) + sizeof(uint32_t);
    std::array<std::byte, sizeof(uint64_t) + sizeof(uint32_t)> payload{};
    nbd::store_be<uint64_t>(std::span(payload).first<8>(), asked.request.length);
    nbd::store_be<uint32_t>(std::span(payload).last<4>(), introduction_.context_id());
    put_header(header);
    enter(std::move(asked), payload);
}

void Client::enter(Asked asked, std::span<const std::byte> payload) {
    asked.made = timeline_.now();
    out_.insert(out_.end(), payload.begin(), payload.end());
    asked.end = out_pushed_ + (out_.size() - out_first_);
    const uint64_t cookie = asked.request.cookie;
    asked_.emplace(cookie, std::move(asked));
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
        // A write brings its data with or without the flag.
        const bool flagged = plan_.form == ReplyForm::extended && !rare_.one_in(rare_each);
        if (flagged) request.flags |= nbd::command_flag::payload_len;
    }
    if (refusal == Error::none) {
        using Effect = Oracle::Effect;
        const bool zeroes = request.type == Command::write_zeroes;
        const bool trims = request.type == Command::trim;
        const bool keeps = (request.flags & nbd::command_flag::no_hole) != 0;
        if (changes(request.type) && request.length > 0) {
            const Effect zeroing = keeps ? Effect::kept_zeroes : Effect::zeroes;
            const Effect effect = zeroes ? zeroing : (trims ? Effect::maybe_zeroes : Effect::data);
            asked.write =
                oracle_.begin_write(request.offset, request.length, effect, timeline_.now());
        }
        if (request.type == Command::write) oracle_.fill(asked.write, payload);
        if (request.type == Command::read) asked.data.resize(request.length);
    }
    asked.request = request;
    const bool by_payload = plan_.elsewhere == nullptr && request.type == Command::block_status &&
                            refusal == Error::none && plan_.form == ReplyForm::extended &&
                            rare_.one_in(4);
    if (by_payload) return put_status_by_payload(std::move(asked));
    put_header(request);
    enter(std::move(asked), payload);
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
    // A server that is sending something cannot send an alert, too.
    const bool can_be_told = is_in() && asked_.empty() && out_.empty() && key_updates_ == 0;
    out_.clear();
    out_first_ = 0;
    const TlsMisuse done = tls_->misuse(plan_.tls.misuse, random_);
    awaits_end_ = done != TlsMisuse::renegotiation;  // which is only declined
    awaits_alert_ = can_be_told && deserves_alert(done);
    if (!awaits_end_ || awaits_alert_ || !is_in() || plan_.form == ReplyForm::extended) return;
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
