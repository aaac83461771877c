#include "driver/nbd/transmission/connection.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "driver/nbd/transmission/reply.hpp"
#include "driver/nbd/transmission/worker.hpp"

namespace blkscope::nbd {
namespace {

constexpr size_t rx_capacity = size_t{128} << 10;
constexpr uint32_t requests_held_max = 256;
constexpr uint64_t bytes_held_max = uint64_t{16} << 20;  // more only for a single large request

// One that is served in pieces of its payload, so that the payload can be received in place.
constexpr uint64_t large_write_bytes = 16384;

// A client's socket has room for one or two of these: it stands still while we do not receive.
constexpr uint64_t filling_write_bytes = 65536;

// A refused write's data is read and dropped, so that the stream stays in step; past this it is
// not worth the client's bandwidth.
constexpr uint64_t skip_bytes_max = uint64_t{128} << 20;

// The data of the requests taken in per turn (measured: docs/performance.md).
constexpr uint64_t share_bytes_max = uint64_t{256} << 10;

// Asked of the kernel, which gives a Unix socket twice that: a share of replies with all that it
// adds, so that the next one is read while the client takes this one. The default holds less than a
// share; the rest of it then waits until three quarters of that are taken. As much as this is
// allowed everywhere (net.core.wmem_max), and more did not make it faster (measured:
// docs/performance.md).
constexpr int unix_send_bytes = 208 << 10;

// Of a receive: long for a client that reads, and no harm to one that waits for us to read first.
constexpr __kernel_timespec hold_time_max{.tv_sec = 0, .tv_nsec = 2'000'000};

// A client that takes less while others wait for the memory is as good as one that takes nothing.
constexpr uint64_t slow_bytes_per_second = uint64_t{4} << 20;

// Room for all replies that a client can have coming, unless many are reads that met holes.
constexpr size_t send_iov_max = size_t{2} * requests_held_max + reply_pieces_max;

// What the data of a request takes of the arena.
uint64_t room_for(const Request& header) {
    return header.type == Command::block_status ? status_bytes : data_bytes(header);
}

RequestRules rules_for(const Export& exp, const Terms& terms) {
    return {.size_bytes = exp.device.size_bytes(),
            // Who has not asked for the limit may not know it.
            .payload_bytes_max =
                terms.block_sizes ? exp.info().block_size.maximum : Arena::piece_bytes_max,
            .read_only = exp.read_only,
            .terms = terms};
}

Buf::Op op_of(Command type) {
    switch (type) {
        case Command::write:
            return Buf::Op::write;
        case Command::flush:
            return Buf::Op::flush;
        case Command::trim:
            return Buf::Op::trim;
        case Command::write_zeroes:
            return Buf::Op::write_zeroes;
        case Command::cache:
            return Buf::Op::cache;
        case Command::block_status:
            return Buf::Op::block_status;
        default:
            return Buf::Op::read;
    }
}

}  // namespace

Connection::Connection(Worker& worker, Export& exp, Lane& lane, const Terms& terms, int socket,
                       std::unique_ptr<TlsSession> tls)
    : worker_(worker),
      export_(exp),
      lane_(lane),
      rules_(rules_for(exp, terms)),
      header_bytes_(terms.replies == ReplyForm::extended ? extended_request_bytes : request_bytes),
      socket_(socket),
      rx_(std::make_unique_for_overwrite<std::byte[]>(rx_capacity)),
      send_iov_(std::make_unique_for_overwrite<iovec[]>(send_iov_max)),
      tls_(std::move(tls)) {
    // Not for a TCP socket: its room grows as the connection needs it until somebody sets it.
    if (kernel().is_unix(socket_)) {
        kernel().set_send_buffer(socket_, unix_send_bytes);
        pacing_.emplace();
    }
    export_.device.connection_opened(lane_);
    receive();
}

Connection::~Connection() {
    assert(finished());
    export_.device.connection_closed(lane_);
    worker_.ring().let_go();
    kernel().close(socket_);
}

Kernel& Connection::kernel() const {
    return worker_.ring().kernel();
}

bool Connection::finished() const {
    return state_ != State::open && in_device_ == 0 && !receiving_.under_way &&
           !sending_.under_way && ready_.empty() && !tls_has_more_to_send();
}

// ---- The end of it ----

void Connection::end() {
    if (state_ != State::open) return;
    state_ = State::ending;
    waits_for_others_ = false;
    worker_.leave_line(*this);
    if (receiving_.under_way) {
        kernel().shutdown(socket_, SHUT_RD);  // received() hears of it
    } else {
        drop_payload();
    }
    worker_.changed(*this);
}

// A payload that will never be whole. Not while a receive is under way: it writes there.
void Connection::drop_payload() {
    if (payload_ != nullptr) release(*payload_);
    if (refused_ != nullptr) release(*refused_);
    payload_ = nullptr;
    refused_ = nullptr;
}

void Connection::kill(std::string_view why) {
    if (state_ == State::dead) return;
    end();
    state_ = State::dead;
    if (!why.empty()) worker_.log(export_, why);
    kernel().shutdown(socket_, SHUT_RDWR);
    while (!ready_.empty()) release(ready_.pop());
}

void Connection::give_up(std::string_view why) {
    if (state_ != State::dead) export_.device.connection_given_up(lane_);
    kill(why);
}

unsigned Connection::tick() {
    const bool waits = sending_.under_way || payload_ != nullptr || refused_ != nullptr;
    seconds_without_progress_ = waits ? seconds_without_progress_ + 1 : 0;
    // A send is heard of only when all of it is out: it has the time that a slow client needs.
    const uint64_t granted = sending_.under_way ? send_bytes_ / slow_bytes_per_second : 0;
    const uint64_t seconds = seconds_without_progress_;
    return static_cast<unsigned>(seconds - std::min(seconds, granted));
}

// ---- Receiving ----

// Takes whatever has come, in one go: the rest of a payload straight to its place, and what follows
// it into the rx buffer. After a large write only one header is taken behind the payload, so that
// the next payload can be received in place too.
void Connection::receive() {
    if (state_ != State::open || receiving_.under_way || in_stalled_list || in_yielded_list) return;
    if (rx_begin_ > 0) {
        std::memmove(rx_.get(), rx_.get() + rx_begin_, rx_bytes());
        rx_end_ = rx_bytes();
        rx_begin_ = 0;
    }
    const size_t room = large_writes_ ? header_bytes_ - rx_end_ : rx_capacity - rx_end_;
    if (tls_ != nullptr) return receive_decrypted(room);
    receiving_.under_way = true;
    if (payload_ == nullptr) return receive_into(rx_.get() + rx_end_, room);
    if (payload_->bcount >= filling_write_bytes) worker_.ring().expect_soon();
    receive_iov_[1] = {rx_.get() + rx_end_, room};
    receive_iov_[0] = {payload_->data + payload_bytes_, payload_->bcount - payload_bytes_};
    receive_message_.msg_iov = receive_iov_;
    receive_message_.msg_iovlen = 2;
    worker_.ring().prepare(receiving_, [&](io_uring_sqe* entry) {
        io_uring_prep_recvmsg(entry, socket_, &receive_message_, 0);
    });
}

void Connection::receive_into(std::byte* to, size_t room) {
    const auto prepare = [&](io_uring_sqe* entry) {
        io_uring_prep_recv(entry, socket_, to, room, 0);
    };
    if (pacing_ && pacing_->hold()) {
        return worker_.ring().prepare_when_writable(socket_, hold_time_max, receiving_, prepare);
    }
    worker_.ring().prepare(receiving_, prepare);
}

// A payload is received at once: the client stands still until all of it is taken. What TLS has
// decrypted is no receive.
void Connection::receive_behind_replies() {
    if (in_stalled_list || in_yielded_list) return;  // resume() comes here again
    if (payload_ != nullptr || large_writes_ || tls_ != nullptr) return receive();
    worker_.receives_next(*this);
}

bool Connection::receive_next() {
    put_off_ = in_device_ > 0 && !put_off_;
    if (!put_off_) receive();
    return !put_off_;
}

void Connection::received(int32_t result) {
    receiving_.under_way = false;
    // ECANCELED: the kernel had no memory for the wait that this was linked to.
    if (state_ == State::open && (result == -EINTR || result == -EAGAIN || result == -ECANCELED)) {
        return receive();
    }
    if (result == 0) end();
    if (result < 0) kill(std::strerror(-result));
    if (state_ != State::open) {
        drop_payload();
        return worker_.changed(*this);
    }

    seconds_without_progress_ = 0;
    auto bytes = static_cast<size_t>(result);
    if (payload_ != nullptr) {
        const size_t in_place = std::min<size_t>(bytes, payload_->bcount - payload_bytes_);
        payload_bytes_ += in_place;
        bytes -= in_place;
    }
    rx_end_ += bytes;
    parse();
    receive_behind_replies();
}

// Takes in a share at a time: the replies of the first requests go out while the data of the next
// ones is read, and it is still in the processor's cache then.
void Connection::parse() {
    share_bytes_ = 0;
    while (state_ == State::open && parse_one()) {
        if (share_bytes_ >= share_bytes_max) return worker_.yielded(*this);
    }
}

void Connection::resume() {
    parse();
    receive_behind_replies();
}

// Takes one step through the rx buffer; false when it needs more bytes, or more room.
bool Connection::parse_one() {
    if (skip_bytes_ > 0) {
        skip_payload();
        return skip_bytes_ == 0;
    }
    if (payload_ != nullptr) return take_payload();
    if (rx_bytes() < header_bytes_) return false;
    const auto header = parse_header();
    if (!header) {
        kill("wrong magic in a request: the stream is lost");
        return false;
    }
    return accept(*header);
}

std::optional<Request> Connection::parse_header() const {
    const std::byte* from = rx_.get() + rx_begin_;
    if (rules_.terms.replies == ReplyForm::extended) {
        return parse_extended_request(
            std::span<const std::byte, extended_request_bytes>(from, extended_request_bytes));
    }
    return parse_request(std::span<const std::byte, request_bytes>(from, request_bytes));
}

// False: no room; the header stays where it is and is looked at again when there is.
bool Connection::accept(const Request& header) {
    if (header.type == Command::disc) {
        end();
        return false;
    }
    if (has_status_payload(header, rules_.terms.replies)) return accept_with_payload(header);
    return serve(header, header_bytes_);
}

// The payload is short: it is waited for in the rx buffer, which has room beyond a header then.
bool Connection::accept_with_payload(const Request& header) {
    large_writes_ = false;
    if (rx_bytes() < header_bytes_ + status_payload_bytes) return false;
    const auto request = with_status_payload(
        header, std::span<const std::byte, status_payload_bytes>(
                    rx_.get() + rx_begin_ + header_bytes_, status_payload_bytes));
    // Refused as it came, its payload is skipped like any other.
    return request ? serve(*request, header_bytes_ + status_payload_bytes)
                   : serve(header, header_bytes_);
}

// Takes the request out of the rx buffer, if there is room for it.
bool Connection::serve(const Request& header, size_t bytes_taken) {
    const int error = rules_.refusal(header);
    const uint64_t payload = rules_.payload_bytes(header);
    const uint64_t room = error == 0 ? room_for(header) : 0;
    PendingRequest* request = admit(header, static_cast<uint32_t>(room));
    if (request == nullptr) {
        worker_.stalled(*this);
        return false;
    }
    rx_begin_ += bytes_taken;
    share_bytes_ += request->held_bytes;
    large_writes_ = error == 0 && payload >= large_write_bytes;
    if (error != 0) {
        request->error = error;
        request->refused = true;
        export_.device.request_refused(lane_);
        turn_down(*request, payload);
        return true;
    }
    if (header.type == Command::write) {
        payload_ = request;
        payload_bytes_ = 0;
        return true;
    }
    submit(*request);
    return true;
}

// Answers a refused request: one with a payload when that has been read, for a client that is still
// sending it (libnbd) takes a reply before that for a broken server.
void Connection::turn_down(PendingRequest& request, uint64_t payload_bytes) {
    if (payload_bytes > 0 && payload_bytes <= skip_bytes_max) {
        refused_ = &request;
        skip_bytes_ = payload_bytes;
        return;
    }
    reply(request);
    if (payload_bytes > 0) end();
}

// A request with room for its data, or nullptr: the pool is used up, or this client has its share.
PendingRequest* Connection::admit(const Request& header, uint32_t data_bytes) {
    waits_for_others_ = false;
    if (requests_held_ == requests_held_max) return nullptr;
    if (bytes_held_ > 0 && bytes_held_ + data_bytes > bytes_held_max) return nullptr;
    waits_for_others_ = true;  // if it gets no further
    std::byte* data = nullptr;
    if (data_bytes > 0) {
        data = worker_.acquire(*this, data_bytes);
        if (data == nullptr) return nullptr;
    }
    PendingRequest* request = worker_.requests().acquire();
    if (request == nullptr) {
        if (data != nullptr) worker_.arena().release(data, data_bytes);
        return nullptr;
    }
    waits_for_others_ = false;
    ++requests_held_;
    bytes_held_ += data_bytes;
    request->data = data;
    request->held_bytes = data_bytes;
    fill(*request, header);
    return request;
}

void Connection::fill(PendingRequest& request, const Request& header) {
    request.connection = this;
    request.iodone = iodone;
    request.cookie = header.cookie;
    request.command = header.type;
    request.refused = false;
    request.op = op_of(header.type);
    request.fua = (header.flags & command_flag::fua) != 0 &&
                  (request.op == Buf::Op::write || request.discards());
    request.no_hole = (header.flags & command_flag::no_hole) != 0;
    request.fast_zero = (header.flags & command_flag::fast_zero) != 0;
    request.offset = header.offset;
    request.bcount = header.type == Command::flush ? 0 : header.length;
    give_room_for_extents(request, header);
}

// A block status lists them in its piece of the arena, where its descriptors will be; a read in the
// request, if its client takes holes.
void Connection::give_room_for_extents(PendingRequest& request, const Request& header) {
    std::span<Extent> room;
    const bool one_chunk = (header.flags & command_flag::df) != 0;
    if (header.type == Command::block_status && request.data != nullptr) {
        const bool one = (header.flags & command_flag::req_one) != 0;
        room = {reinterpret_cast<Extent*>(request.data), one ? 1 : status_extents_max};
    } else if (header.type == Command::read && !one_chunk &&
               rules_.terms.replies != ReplyForm::simple) {
        room = request.holes;
    }
    request.extents = ExtentList(room);
}

// Moves the payload's bytes from the rx buffer to their place; a whole write goes to the device.
bool Connection::take_payload() {
    const auto bytes = std::min<uint64_t>(rx_bytes(), payload_->bcount - payload_bytes_);
    std::memcpy(payload_->data + payload_bytes_, rx_.get() + rx_begin_, bytes);
    rx_begin_ += bytes;
    payload_bytes_ += bytes;
    if (payload_bytes_ < payload_->bcount) return false;
    PendingRequest& request = *payload_;
    payload_ = nullptr;
    submit(request);
    return true;
}

void Connection::skip_payload() {
    const uint64_t bytes = std::min<uint64_t>(rx_bytes(), skip_bytes_);
    rx_begin_ += bytes;
    skip_bytes_ -= bytes;
    if (skip_bytes_ > 0) return;
    reply(*refused_);
    refused_ = nullptr;
}

// ---- Through the device and back ----

void Connection::submit(PendingRequest& request) {
    ++in_device_;
    export_.device.strategy(request, lane_);
}

void Connection::iodone(Buf& buf) {
    auto& request = static_cast<PendingRequest&>(buf);
    Connection& connection = *request.connection;
    --connection.in_device_;
    connection.reply(request);
}

void Connection::reply(PendingRequest& request) {
    worker_.changed(*this);
    if (state_ == State::dead) return release(request);
    encode_reply(request, rules_.terms.replies);
    ready_.push(request);
}

void Connection::release(PendingRequest& request) {
    if (request.held_bytes > 0) worker_.arena().release(request.data, request.held_bytes);
    bytes_held_ -= request.held_bytes;
    --requests_held_;
    worker_.requests().release(request);
}

// ---- Sending ----

void Connection::send_replies() {
    if (sending_.under_way) return;
    if (tls_ != nullptr) return send_encrypted();
    if (ready_.empty()) return;
    list_replies();
    send();
}

void Connection::list_replies() {
    send_message_.msg_iov = send_iov_.get();
    send_message_.msg_iovlen = gather();
}

// Lists what is ready, as far as the list goes; the rest is next. Gives the number of pieces.
size_t Connection::gather() {
    size_t count = 0;
    while (!ready_.empty() && count + reply_pieces_max <= send_iov_max) {
        PendingRequest& request = ready_.pop();
        on_the_wire_.push(request);
        count += list_pieces(request, rules_.terms.replies, &send_iov_[count]);
    }
    send_bytes_ = 0;
    for (size_t i = 0; i < count; ++i) send_bytes_ += send_iov_[i].iov_len;
    return count;
}

void Connection::send() {
    sending_.under_way = true;
    if (pacing_) tell_pacing();
    worker_.ring().prepare(sending_, [&](io_uring_sqe* entry) {
        io_uring_prep_sendmsg(entry, socket_, &send_message_, MSG_NOSIGNAL | MSG_WAITALL);
    });
}

void Connection::tell_pacing() {
    if (pacing_->asks_what_is_left()) {
        pacing_->found_left(
            static_cast<uint64_t>(std::max<int64_t>(kernel().unsent_bytes(socket_), 0)));
    }
    pacing_->sent(send_bytes_);
}

// A send may end early all the same; the rest of the list goes out next.
void Connection::skip_sent(size_t bytes) {
    while (bytes > 0) {
        iovec& piece = *send_message_.msg_iov;
        const size_t part = std::min(bytes, piece.iov_len);
        piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
        piece.iov_len -= part;
        bytes -= part;
        if (piece.iov_len > 0) return;
        ++send_message_.msg_iov;
        --send_message_.msg_iovlen;
    }
}

void Connection::sent(int32_t result) {
    sending_.under_way = false;
    worker_.changed(*this);
    const bool again = result == -EINTR || result == -EAGAIN;
    if (result < 0 && !again) {
        // A client that has said that it goes may be gone before its last replies: nothing to tell.
        kill(state_ == State::open ? std::strerror(-result) : "");
    }
    if (result > 0) {
        seconds_without_progress_ = 0;
        send_bytes_ -= static_cast<size_t>(result);
        skip_sent(static_cast<size_t>(result));
    }
    if (state_ != State::dead && send_bytes_ > 0) return send();
    release_sent();
}

void Connection::release_sent() {
    while (!on_the_wire_.empty()) release(on_the_wire_.pop());
}

}  // namespace blkscope::nbd
