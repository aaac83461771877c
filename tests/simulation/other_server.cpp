#include "other_server.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include "simulated_file.hpp"

namespace blkscope::simulation {
namespace {

using nbd::Chunk;
using nbd::Command;
using nbd::Error;
using nbd::ReplyForm;
namespace flag = nbd::transmission_flag;

constexpr uint64_t server_look_ns_max = 3'000;
constexpr uint64_t pause_ns_max = 20'000;
constexpr uint64_t one_send_in = 4;  // sends that are cut short
constexpr size_t receive_bytes_max = 65536;
constexpr uint64_t nonsense_bytes_max = 64;
constexpr uint64_t manner_stream = 0x6d616e6e;
constexpr uint64_t chunk_pause_ns_max = 30'000;
constexpr uint64_t pieces_max = 12;
constexpr size_t answered_max = 32;  // cookies that are kept, to repeat one
constexpr std::byte poison{0xee};    // no write has such data
constexpr hrtime_t lie_second_ns = 1'000'000'000;
constexpr unsigned lie_seconds_max = 5;
constexpr uint32_t allocation_id = 7;

void add_bytes(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

bool contains(const std::vector<uint64_t>& all, uint64_t one) {
    return std::ranges::find(all, one) != all.end();
}

}  // namespace

struct OtherServer::Connection {
    std::shared_ptr<SimulatedSocket> socket;
    ReplyForm form = ReplyForm::simple;
    uint64_t set = 0;
    bool open = true;
    bool shuts_down = false;
    bool look_is_due = false;
    std::vector<std::byte> in;
    std::vector<std::byte> out;
    std::vector<uint64_t> owed;      // cookies without a whole answer
    std::vector<uint64_t> answered;  // the latest
};

struct OtherServer::Running {
    ConnectionRef connection;
    nbd::Request request;
    std::vector<std::byte> payload;
    uint64_t mark = 0;     // of the changes, when the request came
    bool hurries = false;  // the connection has ended
    bool over = false;
};

OtherServer::OtherServer(Timeline& timeline, Judge& judge, Random random, const OtherPlan& plan)
    : timeline_(timeline),
      judge_(judge),
      random_(random),
      plan_(plan),
      manners_(plan.seed, manner_stream),
      memory_(plan.content.empty() ? std::vector<std::byte>(plan.bytes) : plan.content),
      disk_(memory_),
      unstable_since_(plan.bytes / sector_bytes),
      provisioned_(plan.bytes / sector_bytes) {
    assert(memory_.size() == plan.bytes);
    for (uint64_t sector = 0; sector < provisioned_.size(); ++sector) {
        const auto bytes = std::span(memory_).subspan(sector * sector_bytes, sector_bytes);
        provisioned_[sector] =
            std::ranges::any_of(bytes, [](std::byte each) { return each != std::byte{0}; });
    }
}

OtherServer::~OtherServer() {
    *alive_ = false;
    for (const ConnectionRef& connection : connections_) close(connection, false);
}

// ---- Connections ----

nbd::RemoteExport OtherServer::offer() {
    nbd::RemoteExport remote;
    remote.size_bytes = plan_.bytes;
    remote.transmission_flags = plan_.terms.flags;
    remote.block_size = plan_.terms.block_size;
    remote.terms.replies = static_cast<ReplyForm>(random_.below(3));
    remote.terms.allocation = plan_.terms.allocation;
    remote.allocation_id = allocation_id;
    if (plan_.terms.allocation && remote.terms.replies == ReplyForm::simple) {
        remote.terms.replies = ReplyForm::structured;
    }
    return remote;
}

void OtherServer::accept(std::shared_ptr<SimulatedSocket> socket, const nbd::RemoteExport& remote,
                         uint64_t set) {
    assert(!is_down());
    auto connection = std::make_shared<Connection>();
    connection->socket = std::move(socket);
    connection->form = remote.terms.replies;
    connection->set = set;
    connection->socket->changed = [this, weak = std::weak_ptr(connection)] {
        if (const auto here = weak.lock()) look_soon(here, 1);
    };
    connections_.push_back(connection);
    look_soon(connection, 1);
}

void OtherServer::look_soon(const ConnectionRef& connection, hrtime_t delay) {
    if (connection->look_is_due || !connection->open) return;
    connection->look_is_due = true;
    delay = std::max(delay, goes_on_at_ - timeline_.now() + 1);
    timeline_.after(delay, [this, alive = alive_, connection] {
        if (!*alive) return;
        connection->look_is_due = false;
        if (is_stopped()) return look_soon(connection, 1);
        if (connection->open) look(connection);
    });
}

void OtherServer::look(const ConnectionRef& connection) {
    take(connection);
    while (connection->open && take_request(connection)) {
    }
    push(connection);
    forget_closed();
}

// There may be more, or the end of the stream.
void OtherServer::take(const ConnectionRef& connection) {
    std::vector<std::byte> part(random_.between(1, receive_bytes_max));
    const int64_t result = connection->socket->receive(part);
    if (result == -EAGAIN) return;
    timeline_.note(static_cast<uint64_t>(result));
    if (result <= 0) {
        connection->open = false;
        return connection->socket->close();
    }
    add_bytes(connection->in, std::span(part).first(static_cast<size_t>(result)));
    look_soon(connection, static_cast<hrtime_t>(random_.between(1, server_look_ns_max)));
}

bool OtherServer::take_request(const ConnectionRef& connection) {
    const bool extended = connection->form == ReplyForm::extended;
    const size_t header_bytes = extended ? nbd::extended_request_bytes : nbd::request_bytes;
    std::vector<std::byte>& in = connection->in;
    if (in.size() < header_bytes) return false;
    const std::span<const std::byte> from(in);
    const auto parsed = extended ? nbd::parse_extended_request(from.first<32>())
                                 : nbd::parse_request(from.first<28>());
    if (!parsed) {
        judge_.fail("the other server got a wrong magic");
        return false;
    }
    const nbd::Request& request = *parsed;
    const size_t payload = request.type == Command::write ? request.length : 0;
    if (in.size() < header_bytes + payload) return false;
    if (request.type == Command::disc) {
        close(connection, false);
        return false;
    }
    check(*connection, request);
    begin(connection, request, from.subspan(header_bytes, payload));
    in.erase(in.begin(), in.begin() + static_cast<ptrdiff_t>(header_bytes + payload));
    return true;
}

// A request of a connection that the client has given up may belong to a request that failed before.
void OtherServer::check(const Connection& connection, const nbd::Request& request) {
    const bool extended = connection.form == ReplyForm::extended;
    std::string wrong = plan_.terms.offence(request, memory_.size(), extended);
    if (contains(connection.owed, request.cookie)) {
        wrong = "a cookie that another request has";
    }
    if (wrong.empty() && check_request && !connection.socket->peer_closed()) {
        const auto here = std::ranges::count_if(running_, [&](const RunningRef& running) {
            return running->connection->open && running->connection->set == connection.set;
        });
        wrong = check_request(request, static_cast<size_t>(here) + 1);
    }
    if (wrong.empty()) return;
    judge_.fail("the other server got " + wrong + ": " + text_of(request));
}

// ---- Requests ----

void OtherServer::begin(const ConnectionRef& connection, const nbd::Request& request,
                        std::span<const std::byte> payload) {
    check_order(*connection, request);
    auto running = std::make_shared<Running>();
    running->connection = connection;
    running->request = request;
    running->payload.assign(payload.begin(), payload.end());
    running->mark = changes_;
    running_.push_back(running);
    connection->owed.push_back(request.cookie);
    lie(connection, request);
    const bool silent = random_.one_in(plan_.silent_one_in);
    const auto most = static_cast<uint64_t>(plan_.run_ns_max);
    run_after(running, silent ? plan_.silent_ns : static_cast<hrtime_t>(random_.between(1, most)));
}

// The client keeps the order of writes, because its connections may end before their answers.
void OtherServer::check_order(const Connection& connection, const nbd::Request& request) {
    if (!changes(request.type)) return;
    for (const RunningRef& running : running_) {
        const nbd::Request& other = running->request;
        const bool overlaps = request.offset < other.offset + other.length &&
                              other.offset < request.offset + request.length;
        if (running->connection->set != connection.set || !changes(other.type) || !overlaps)
            continue;
        return judge_.fail("two writes that overlap are with the other server");
    }
}

void OtherServer::run_after(const RunningRef& running, hrtime_t delay) {
    timeline_.after(delay, [this, alive = alive_, running] {
        if (*alive && !running->over) run(running);
    });
}

void OtherServer::run(const RunningRef& running) {
    if (is_stopped()) {
        const auto late = static_cast<hrtime_t>(random_.between(1, pause_ns_max));
        return run_after(running, goes_on_at_ - timeline_.now() + late);
    }
    running->over = true;
    std::erase(running_, running);
    const ConnectionRef connection = running->connection;
    const bool refused = connection->open && connection->shuts_down;
    if (!refused) apply(*running, running->request.length);
    if (!connection->open) return;
    reply(*running);
    push(connection);
}

// A request that fails may have done what comes before the place of its failure.
uint64_t OtherServer::bytes_to_do(const nbd::Request& request) {
    const auto [error, at] = plan_.terms.refusal(request);
    if (error == Error::none) return request.length;
    return manners_.one_in(2) ? at - request.offset : 0;
}

// `bytes_max`: so much of it is done before the process ends.
void OtherServer::apply(const Running& running, uint64_t bytes_max) {
    const nbd::Request& request = running.request;
    timeline_.note(request.offset);
    if (request.type == Command::flush) {
        if (plan_.terms.flush_error != Error::none) return;
        return make_stable(0, memory_.size(), running.mark);
    }
    if (!changes(request.type)) return;
    const uint64_t bytes = std::min(bytes_to_do(request), bytes_max);
    const bool no_hole = (request.flags & nbd::command_flag::no_hole) != 0;
    const bool writes = request.type == Command::write;
    if (writes) {
        put(request.offset, std::span(running.payload).first(bytes));
    } else {
        put(request.offset, std::vector<std::byte>(bytes));
    }
    const auto first = static_cast<ptrdiff_t>(request.offset / sector_bytes);
    std::fill_n(provisioned_.begin() + first, bytes / sector_bytes, writes || no_hole);
    const bool fua = (request.flags & nbd::command_flag::fua) != 0;
    const bool through = fua || !plan_.terms.offers(Command::flush);
    if (through) make_stable(request.offset, bytes, changes_);
}

void OtherServer::put(uint64_t offset, std::span<const std::byte> data) {
    ++changes_;
    std::ranges::copy(data, memory_.begin() + static_cast<ptrdiff_t>(offset));
    for (uint64_t at = offset; at < offset + data.size(); at += sector_bytes) {
        uint64_t& since = unstable_since_[at / sector_bytes];
        if (since == 0) since = changes_;
    }
}

// A flush covers the changes that were done when it came, and no others.
void OtherServer::make_stable(uint64_t offset, uint64_t bytes, uint64_t mark) {
    for (uint64_t at = offset; at < offset + bytes; at += sector_bytes) {
        uint64_t& since = unstable_since_[at / sector_bytes];
        if (since == 0 || since > mark) continue;
        since = 0;
        std::copy_n(memory_.begin() + static_cast<ptrdiff_t>(at), sector_bytes,
                    disk_.begin() + static_cast<ptrdiff_t>(at));
    }
}

// ---- Replies ----

std::vector<std::byte> OtherServer::bytes_of(const nbd::Request& request) const {
    const auto bytes = std::span(memory_).subspan(request.offset, request.length);
    return {bytes.begin(), bytes.end()};
}

// A list may end early, and its last extent may reach beyond the request.
std::vector<OtherReply::Extent> OtherServer::extents_of(const nbd::Request& request) {
    std::vector<OtherReply::Extent> extents;
    uint64_t end = request.offset + request.length;
    const bool one = (request.flags & nbd::command_flag::req_one) != 0;
    if (!one && manners_.one_in(3))
        end = std::min<uint64_t>(memory_.size(), end + 8 * sector_bytes);
    for (uint64_t at = request.offset; at < end;) {
        const uint64_t bytes = std::min(end, (at / sector_bytes + 1) * sector_bytes) - at;
        const bool data = provisioned_[at / sector_bytes];
        const uint32_t flags = data ? 0 : nbd::allocation_flag::hole | nbd::allocation_flag::zero;
        const bool beyond = at >= request.offset + request.length;
        const bool joins = !extents.empty() && extents.back().flags == flags;
        if (beyond && !joins) break;
        if (!joins && !extents.empty() && (one || manners_.one_in(6))) break;
        if (!joins) extents.push_back({0, flags});
        extents.back().bytes += bytes;
        at += bytes;
    }
    return extents;
}

void OtherServer::reply(const Running& running) {
    const ConnectionRef& connection = running.connection;
    const nbd::Request& request = running.request;
    OtherReply reply(connection->form, request);
    OtherTerms::Refusal refusal = plan_.terms.refusal(request);
    if (connection->shuts_down || std::exchange(refuses_one_, false)) {
        refusal = {Error::eshutdown, request.offset};
    } else if (refusal.error != Error::none && request.type == Command::flush &&
               flush_refused_at_ == 0) {
        flush_refused_at_ = timeline_.now();
    }
    const bool structured = connection->form == ReplyForm::structured;
    const bool simple = connection->form == ReplyForm::simple;
    const bool good = refusal.error == Error::none;
    if (request.type == Command::read) {
        reply_to_read(reply, request, refusal);
    } else if (good && request.type == Command::block_status) {
        reply.extents(allocation_id, extents_of(request));
    } else if (simple || (structured && !(plan_.terms.fragments && manners_.one_in(2)))) {
        reply.simple(refusal.error, {});
    } else if (good) {
        reply.done();
    } else {
        reply.error(refusal.error, true);
    }
    send(connection, request.cookie, reply);
}

void OtherServer::reply_to_read(OtherReply& reply, const nbd::Request& request,
                                OtherTerms::Refusal refusal) {
    const bool good = refusal.error == Error::none;
    const std::vector<std::byte> data = bytes_of(request);
    if (reply.form() == ReplyForm::simple) {
        return reply.simple(refusal.error, good ? std::span(data) : std::span(data).first(0));
    }
    if (!good) return reply.failed_read(manners_, data, refusal.error, refusal.at);
    if (plan_.terms.fragments) return reply.pieces(manners_, data, pieces_max);
    reply.halves(random_, data);
}

void OtherServer::send(const ConnectionRef& connection, uint64_t cookie, OtherReply& reply) {
    if (plan_.terms.fragments && manners_.one_in(2)) {
        using Messages = std::vector<std::vector<std::byte>>;
        return send_later(connection, cookie,
                          std::make_shared<Messages>(std::move(reply.messages())), 0);
    }
    for (const auto& message : reply.messages()) add_bytes(connection->out, message);
    answered(connection, cookie);
}

// Messages of other answers come between them.
void OtherServer::send_later(const ConnectionRef& connection, uint64_t cookie,
                             std::shared_ptr<std::vector<std::vector<std::byte>>> messages,
                             size_t number) {
    auto delay = static_cast<hrtime_t>(manners_.between(1, chunk_pause_ns_max));
    if (is_stopped()) delay += goes_on_at_ - timeline_.now();
    timeline_.after(delay, [this, alive = alive_, connection, cookie, messages, number] {
        if (!*alive || !connection->open) return;
        if (is_stopped()) return send_later(connection, cookie, messages, number);
        add_bytes(connection->out, messages->at(number));
        const bool last = number + 1 == messages->size();
        if (last) answered(connection, cookie);
        push(connection);
        if (!last) send_later(connection, cookie, messages, number + 1);
    });
}

void OtherServer::answered(const ConnectionRef& connection, uint64_t cookie) {
    std::erase(connection->owed, cookie);
    std::vector<uint64_t>& latest = connection->answered;
    latest.push_back(cookie);
    if (latest.size() > answered_max) latest.erase(latest.begin());
}

// ---- Answers to nothing ----

// A cookie that no request of the connection has: of one that was answered, and that another connection may have
// now, or one that nobody has. Another connection's own could be that of a request on its way to here.
uint64_t OtherServer::wrong_cookie(const Connection& connection) {
    std::vector<uint64_t> old = connection.answered;
    std::erase_if(old, [&](uint64_t cookie) { return contains(connection.owed, cookie); });
    if (old.empty() || manners_.one_in(4)) return ~manners_.below(1'000'000);
    for (const ConnectionRef& other : connections_) {
        for (const uint64_t cookie : old) {
            if (contains(other->owed, cookie)) return cookie;
        }
    }
    return old[old.size() - 1 - manners_.below(std::min<size_t>(old.size(), 4))];
}

// As if the request just received had succeeded, with data that nobody wrote.
void OtherServer::lie(const ConnectionRef& connection, const nbd::Request& request) {
    if (!manners_.one_in(plan_.terms.wrong_cookie_one_in)) return;
    nbd::Request other = request;
    other.cookie = wrong_cookie(*connection);
    OtherReply reply(connection->form, other);
    const bool reads = request.type == Command::read;
    const std::vector<std::byte> data(reads ? request.length : 0, poison);
    if (connection->form == ReplyForm::simple) {
        reply.simple(Error::none, data);
    } else if (reads) {
        reply.pieces(manners_, data, pieces_max);
    } else if (request.type == Command::block_status) {
        reply.extents(allocation_id, {{request.length, nbd::allocation_flag::hole}});
    } else {
        connection->form == ReplyForm::extended ? reply.done() : reply.simple(Error::none, {});
    }
    for (const auto& message : reply.messages()) add_bytes(connection->out, message);
    push(connection);
    watch_lie(connection, 0);
}

// Nothing that comes after such an answer can be trusted, so the client must end the connection.
void OtherServer::watch_lie(const ConnectionRef& connection, unsigned seconds) {
    timeline_.after(lie_second_ns, [this, alive = alive_, connection, seconds] {
        if (!*alive || !connection->open || connection->socket->peer_closed()) return;
        if (is_stopped()) return watch_lie(connection, 0);
        if (seconds < lie_seconds_max) return watch_lie(connection, seconds + 1);
        judge_.fail("an answer to nothing is accepted");
    });
}

void OtherServer::push(const ConnectionRef& connection) {
    if (!connection->open || connection->out.empty()) return;
    std::vector<std::byte>& out = connection->out;
    const bool part = random_.one_in(one_send_in);
    size_t bytes = part ? random_.between(1, out.size()) : out.size();
    if (plan_.terms.fragments && manners_.one_in(one_send_in)) {
        bytes = manners_.between(1, std::min(out.size(), nbd::extended_reply_bytes));
    }
    const int64_t result = connection->socket->send(std::span(out).first(bytes));
    if (result <= 0) return;  // `changed` is called when there is room; take() has an error
    out.erase(out.begin(), out.begin() + result);
    if (!out.empty())
        look_soon(connection, static_cast<hrtime_t>(random_.between(1, pause_ns_max)));
}

// ---- Troubles ----

void OtherServer::close(const ConnectionRef& connection, bool reset) {
    if (!connection->open) return;
    connection->open = false;
    connection->socket->close(reset);
}

// The requests of a connection that has ended run soon.
void OtherServer::forget_closed() {
    for (const RunningRef& running : running_) {
        if (running->connection->open || std::exchange(running->hurries, true)) continue;
        const auto most = static_cast<uint64_t>(plan_.late_ns_max);
        run_after(running, static_cast<hrtime_t>(random_.between(1, most)));
    }
    std::erase_if(connections_, [](const ConnectionRef& connection) { return !connection->open; });
}

void OtherServer::close_connections() {
    for (const ConnectionRef& connection : connections_) close(connection, random_.one_in(2));
    forget_closed();
}

void OtherServer::close_one_connection() {
    if (connections_.empty()) return;
    close(connections_[random_.below(connections_.size())], random_.one_in(2));
    forget_closed();
}

void OtherServer::restart(bool keeps_memory, hrtime_t down_ns) {
    assert(down_ns > 0);
    for (const RunningRef& running : std::exchange(running_, {})) {
        running->over = true;
        const uint64_t sectors = running->request.length / sector_bytes;
        const bool begun = changes(running->request.type) && random_.one_in(2);
        if (begun) apply(*running, random_.below(sectors + 1) * sector_bytes);
    }
    for (const ConnectionRef& connection : connections_) close(connection, random_.one_in(2));
    connections_.clear();
    goes_on_at_ = 0;
    up_at_ = timeline_.now() + down_ns;
    if (keeps_memory) return;
    for (uint64_t sector = 0; sector < unstable_since_.size(); ++sector) {
        if (unstable_since_[sector] == 0) continue;
        const auto at = static_cast<ptrdiff_t>(sector * sector_bytes);
        const bool survives = random_.one_in(2);
        auto& from = survives ? memory_ : disk_;
        std::copy_n(from.begin() + at, sector_bytes, (survives ? disk_ : memory_).begin() + at);
        unstable_since_[sector] = 0;
    }
    provisioned_.assign(provisioned_.size(), true);
}

// Old requests run before, so that they are not later than they may be.
void OtherServer::stop(hrtime_t ns) {
    if (is_stopped()) return;
    const std::vector<RunningRef> all = running_;
    for (const RunningRef& running : all) {
        if (!running->connection->open) run(running);
    }
    goes_on_at_ = timeline_.now() + ns;
}

void OtherServer::shut_down() {
    for (const ConnectionRef& connection : connections_) connection->shuts_down = true;
}

void OtherServer::talk_nonsense() {
    for (const ConnectionRef& connection : connections_) {
        for (uint64_t i = random_.between(4, nonsense_bytes_max); i > 0; --i) {
            connection->out.push_back(static_cast<std::byte>(random_.next() & 0xff));
        }
        push(connection);
    }
}

}  // namespace blkscope::simulation
