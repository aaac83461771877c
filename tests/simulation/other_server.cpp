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
constexpr uint32_t request_bytes_max = 1 << 20;
constexpr uint64_t nonsense_bytes_max = 64;
constexpr size_t offset_bytes = sizeof(uint64_t);

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

bool changes(Command command) {
    return command == Command::write || command == Command::trim ||
           command == Command::write_zeroes;
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
      memory_(plan.bytes),
      disk_(plan.bytes),
      unstable_since_(plan.bytes / sector_bytes) {}

OtherServer::~OtherServer() {
    *alive_ = false;
    for (const ConnectionRef& connection : connections_) close(connection, false);
}

// ---- Connections ----

nbd::RemoteExport OtherServer::offer() {
    nbd::RemoteExport remote;
    remote.size_bytes = plan_.bytes;
    remote.transmission_flags = flag::has_flags | flag::send_flush | flag::send_fua |
                                flag::send_trim | flag::send_write_zeroes;
    remote.block_size.maximum = request_bytes_max;
    remote.terms.replies = static_cast<ReplyForm>(random_.below(3));
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
    append(connection->in, std::span(part).first(static_cast<size_t>(result)));
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
    if (!is_right(request)) judge_.fail("the other server got a request that it does not offer");
    begin(connection, request, from.subspan(header_bytes, payload));
    in.erase(in.begin(), in.begin() + static_cast<ptrdiff_t>(header_bytes + payload));
    return true;
}

bool OtherServer::is_right(const nbd::Request& request) const {
    if (request.type == Command::flush) return request.offset == 0 && request.length == 0;
    const bool known = request.type == Command::read || changes(request.type);
    return known && request.length > 0 && request.length <= request_bytes_max &&
           request.offset <= plan_.bytes && request.length <= plan_.bytes - request.offset;
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

// `bytes_max`: so much of it is done before the process ends.
void OtherServer::apply(const Running& running, uint64_t bytes_max) {
    const nbd::Request& request = running.request;
    const uint64_t bytes = std::min(request.length, bytes_max);
    timeline_.note(request.offset);
    if (request.type == Command::flush) return make_stable(0, memory_.size(), running.mark);
    if (!changes(request.type)) return;
    if (request.type == Command::write) {
        put(request.offset, std::span(running.payload).first(bytes));
    } else {
        put(request.offset, std::vector<std::byte>(bytes));
    }
    const bool fua = (request.flags & nbd::command_flag::fua) != 0;
    if (fua) make_stable(request.offset, bytes, changes_);
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

void OtherServer::reply(const Running& running) {
    Connection& connection = *running.connection;
    const Error error = connection.shuts_down ? Error::eshutdown : Error::none;
    const bool reads = running.request.type == Command::read && error == Error::none;
    if (reads && connection.form != ReplyForm::simple) return reply_data(running);
    if (connection.form == ReplyForm::extended) {
        if (error == Error::none) return put_chunk(running, Chunk::none, true, 0, {});
        // The error's number, and the length of its text.
        static constexpr std::array<std::byte, 6> shutdown{{{}, {}, {}, std::byte{108}, {}, {}}};
        return put_chunk(running, Chunk::error, true, 0, shutdown);
    }
    std::array<std::byte, nbd::simple_reply_bytes> header{};
    nbd::encode_simple_reply(header, error, running.request.cookie);
    append(connection.out, header);
    if (!reads) return;
    append(connection.out,
           std::span(memory_).subspan(running.request.offset, running.request.length));
}

// In one chunk or two, in any order, and with a chunk that says that it was all.
void OtherServer::reply_data(const Running& running) {
    const nbd::Request& request = running.request;
    const uint64_t middle = random_.between(1, request.length);
    const bool separate_end = random_.one_in(2);
    const auto part = [&](uint64_t first, uint64_t end, bool last) {
        put_chunk(running, Chunk::offset_data, last, request.offset + first,
                  std::span(memory_).subspan(request.offset + first, end - first));
    };
    if (middle < request.length) part(middle, request.length, false);
    part(0, middle, !separate_end);
    if (separate_end) put_chunk(running, Chunk::none, true, 0, {});
}

void OtherServer::put_chunk(const Running& running, Chunk type, bool last, uint64_t offset,
                            std::span<const std::byte> data) {
    Connection& connection = *running.connection;
    const bool has_offset = type == Chunk::offset_data;
    const nbd::ChunkHead head{last ? nbd::chunk_flag::done : uint16_t{0}, type,
                              running.request.cookie,
                              data.size() + (has_offset ? offset_bytes : 0)};
    if (connection.form == ReplyForm::extended) {
        std::array<std::byte, nbd::extended_reply_bytes> header{};
        nbd::encode_extended_chunk(header, head, running.request.offset);
        append(connection.out, header);
    } else {
        std::array<std::byte, nbd::structured_reply_bytes> header{};
        nbd::encode_structured_chunk(header, head);
        append(connection.out, header);
    }
    std::array<std::byte, offset_bytes> place{};
    nbd::store_be<uint64_t>(place, offset);
    if (has_offset) append(connection.out, place);
    append(connection.out, data);
}

void OtherServer::push(const ConnectionRef& connection) {
    if (!connection->open || connection->out.empty()) return;
    std::vector<std::byte>& out = connection->out;
    const bool part = random_.one_in(one_send_in);
    const size_t bytes = part ? random_.between(1, out.size()) : out.size();
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
