#include "simulated_kernel.hpp"

#include <linux/falloc.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace blkscope::simulation {
namespace {

constexpr uint64_t kernel_stream = 0x6b65726e;
constexpr uint64_t errors_stream = 0x6572726f;
constexpr int descriptor_first = 100;  // no real descriptor has this number
constexpr unsigned refusals_max = 3;
constexpr uint8_t link_flags = IOSQE_IO_LINK | IOSQE_IO_HARDLINK;
constexpr hrtime_t reading_ns = 20;
constexpr uint64_t wake_ns_max = 5'000;
constexpr uint64_t socket_ns_max = 2'000;

hrtime_t ns_of(uint64_t timespec_at) {
    const auto* time = reinterpret_cast<const __kernel_timespec*>(timespec_at);
    return static_cast<hrtime_t>(time->tv_sec) * 1'000'000'000 + time->tv_nsec;
}

}  // namespace

SimulatedKernel::SimulatedKernel(Timeline& timeline, uint64_t seed)
    : timeline_(timeline), random_(seed, kernel_stream), errors_(seed, errors_stream) {
    ticks_are_ns = true;
}

SimulatedKernel::~SimulatedKernel() {
    for (const DescriptionRef& open : descriptors_) {
        if (open && open->socket) open->socket->changed = nullptr;
    }
}

// ---- For the scheduler ----

void SimulatedKernel::when_ready(unsigned ring, std::function<void()> wake) {
    rings_.at(ring)->wake = std::move(wake);
}

int SimulatedKernel::open_file(std::shared_ptr<SimulatedFile> file, bool direct) {
    auto open = std::make_shared<Description>();
    open->errors_seen = file->errors();
    open->file = std::move(file);
    open->direct = direct;
    descriptors_.push_back(std::move(open));
    return static_cast<int>(descriptors_.size()) - 1 + descriptor_first;
}

int SimulatedKernel::open_socket(std::shared_ptr<SimulatedSocket> socket) {
    auto open = std::make_shared<Description>();
    socket->changed = [this, weak = std::weak_ptr<Description>(open)] {
        if (const auto on = weak.lock()) look_at(on);
    };
    open->socket = std::move(socket);
    descriptors_.push_back(std::move(open));
    return static_cast<int>(descriptors_.size()) - 1 + descriptor_first;
}

int SimulatedKernel::duplicate(int fd) {
    description(fd);
    descriptors_.push_back(descriptors_[static_cast<size_t>(fd - descriptor_first)]);
    return static_cast<int>(descriptors_.size()) - 1 + descriptor_first;
}

unsigned SimulatedKernel::open_descriptors() const {
    return static_cast<unsigned>(std::count_if(descriptors_.begin(), descriptors_.end(),
                                               [](const auto& open) { return open != nullptr; }));
}

unsigned SimulatedKernel::open_sockets() const {
    return static_cast<unsigned>(
        std::count_if(descriptors_.begin(), descriptors_.end(),
                      [](const auto& open) { return open != nullptr && open->socket; }));
}

bool SimulatedKernel::has_open(const SimulatedFile& file) const {
    return std::ranges::any_of(descriptors_,
                               [&](const auto& open) { return open && open->file.get() == &file; });
}

bool SimulatedKernel::has_peer_of(const SimulatedSocket& socket) const {
    return std::ranges::any_of(descriptors_, [&](const auto& open) {
        return open && open->socket && open->socket->is_peer_of(socket);
    });
}

SimulatedKernel::Description& SimulatedKernel::description(int fd) {
    assert(fd >= descriptor_first);
    assert(static_cast<size_t>(fd - descriptor_first) < descriptors_.size());
    const DescriptionRef& open = descriptors_[static_cast<size_t>(fd - descriptor_first)];
    assert(open != nullptr);  // a closed descriptor
    return *open;
}

// ---- Rings ----

int SimulatedKernel::set_up(unsigned entries, io_uring& ring) {
    assert(entries > 0 && (entries & (entries - 1)) == 0);
    static constexpr std::array<unsigned, 4> factors{8, 8, 2, 1};
    auto made = std::make_unique<RingState>();
    made->defers = random_.one_in(2);
    made->sq.count = entries;
    made->cq.count = entries * factors[random_.below(factors.size())];
    made->sq.mask = made->sq.count - 1;
    made->cq.mask = made->cq.count - 1;
    made->sqes.resize(made->sq.count);
    made->array.resize(made->sq.count);
    made->cqes.resize(made->cq.count);
    ring = {};
    ring.sq.khead = &made->sq.head;
    ring.sq.ktail = &made->sq.tail;
    ring.sq.kring_mask = &made->sq.mask;
    ring.sq.kring_entries = &made->sq.count;
    ring.sq.kflags = &made->sq.flags;
    ring.sq.kdropped = &made->sq.dropped;
    ring.sq.array = made->array.data();
    ring.sq.sqes = made->sqes.data();
    ring.sq.ring_mask = made->sq.mask;
    ring.sq.ring_entries = made->sq.count;
    ring.cq.khead = &made->cq.head;
    ring.cq.ktail = &made->cq.tail;
    ring.cq.kring_mask = &made->cq.mask;
    ring.cq.kring_entries = &made->cq.count;
    ring.cq.kflags = &made->cq.flags;
    ring.cq.koverflow = &made->cq.dropped;
    ring.cq.cqes = made->cqes.data();
    ring.cq.ring_mask = made->cq.mask;
    ring.cq.ring_entries = made->cq.count;
    ring.ring_fd = static_cast<int>(rings_.size());
    rings_.push_back(std::move(made));
    return 0;
}

void SimulatedKernel::tear_down(io_uring& ring) {
    RingState& closing = state(ring);
    assert(!closing.removed);
    closing.removed = true;
    assert(std::ranges::count(closing.files, nullptr) == std::ssize(closing.files));
    closing.wake = nullptr;
    closing.files.clear();
    for (const DescriptionRef& open : descriptors_) {
        if (!open) continue;
        std::erase_if(open->waiting,
                      [&](const OperationRef& one) { return one->ring == &closing; });
    }
    closing.timeouts.clear();
}

int SimulatedKernel::enable(io_uring& ring) {
    state(ring).enabled = true;
    return 0;
}

int SimulatedKernel::submit(io_uring& ring, unsigned wait_for, hrtime_t ns_max) {
    RingState& here = state(ring);
    assert(here.enabled && !here.removed);
    here.asleep = false;  // its worker may have been called for another reason
    publish(here);
    here.sq.tail = ring.sq.sqe_tail;
    const unsigned waiting = here.sq.tail - here.sq.head;
    assert(waiting <= here.sq.count);
    if (here.refusals < refusals_max && chance(faults.submit_error)) {
        ++here.refusals;
        static constexpr std::array<int, 3> errors{EBUSY, EAGAIN, EINTR};
        return -errors[random_.below(errors.size())];
    }
    here.refusals = 0;
    unsigned most = waiting;
    if (waiting > 1 && chance(faults.short_submit)) {
        most = static_cast<unsigned>(random_.between(1, waiting - 1));
    }
    const unsigned taken = take_entries(here, most);
    ring.sq.sqe_head = here.sq.head;
    publish(here);
    if (taken < waiting || wait_for == 0) return static_cast<int>(taken);
    here.asleep = here.cq.head == here.cq.tail && here.held_back.empty();
    if (here.asleep) limit_sleep(here, ns_max);
    return static_cast<int>(taken);
}

void SimulatedKernel::limit_sleep(RingState& ring, hrtime_t ns_max) {
    assert(ring.asleep && ns_max > 0);
    const uint64_t sleep = ++ring.sleeps;
    if (ns_max == forever) return;
    timeline_.after(ns_max, [this, &ring, sleep] {
        if (ring.asleep && ring.sleeps == sleep) wake(ring);
    });
}

void SimulatedKernel::wake(RingState& ring) {
    assert(ring.asleep);
    ring.asleep = false;
    timeline_.after(static_cast<hrtime_t>(random_.between(1, wake_ns_max)), [&ring] {
        if (ring.wake) ring.wake();
    });
}

// Takes `most` entries, and all that are linked to the last of them.
unsigned SimulatedKernel::take_entries(RingState& ring, unsigned most) {
    unsigned taken = 0;
    std::vector<OperationRef> begun;
    OperationRef last;
    while (ring.sq.head != ring.sq.tail && (taken < most || last)) {
        const io_uring_sqe& entry = ring.sqes[ring.sq.head & ring.sq.mask];
        OperationRef operation = make_operation(ring, entry);
        ++ring.sq.head;
        ++taken;
        if (last) {
            last->next = operation;
        } else {
            begun.push_back(operation);
        }
        last = (operation->entry.flags & link_flags) != 0 ? operation : nullptr;
    }
    for (const OperationRef& operation : begun) begin(operation);
    return taken;
}

SimulatedKernel::OperationRef SimulatedKernel::make_operation(RingState& ring,
                                                              const io_uring_sqe& entry) {
    auto operation = std::make_shared<Operation>();
    operation->ring = &ring;
    operation->number = ++operations_made_;
    operation->entry = {entry.opcode,
                        entry.flags,
                        entry.fd,
                        entry.off,
                        entry.addr,
                        entry.len,
                        static_cast<uint32_t>(entry.rw_flags),
                        entry.user_data};
    const bool is_timer = entry.opcode == IORING_OP_TIMEOUT || entry.opcode == IORING_OP_NOP ||
                          entry.opcode == IORING_OP_LINK_TIMEOUT ||
                          entry.opcode == IORING_OP_ASYNC_CANCEL ||
                          entry.opcode == IORING_OP_TIMEOUT_REMOVE;
    if (is_timer) return operation;
    if ((entry.flags & IOSQE_FIXED_FILE) != 0) {
        operation->on = ring.files.at(static_cast<size_t>(entry.fd));
        assert(operation->on != nullptr);
    } else {
        description(entry.fd);
        operation->on = descriptors_[static_cast<size_t>(entry.fd - descriptor_first)];
    }
    list_pieces(*operation);
    operation->transfers = operation->on->file || operation->on->socket;
    if (operation->transfers) ++operations_;
    return operation;
}

void SimulatedKernel::list_pieces(Operation& operation) {
    const Entry& entry = operation.entry;
    if (entry.opcode == IORING_OP_RECVMSG || entry.opcode == IORING_OP_SENDMSG) {
        const auto* message = reinterpret_cast<const msghdr*>(entry.addr);
        operation.pieces.assign(message->msg_iov, message->msg_iov + message->msg_iovlen);
    } else if (entry.opcode == IORING_OP_RECV || entry.opcode == IORING_OP_SEND) {
        operation.pieces.push_back({reinterpret_cast<void*>(entry.addr), entry.len});
    }
}

int SimulatedKernel::take_completions(io_uring& ring) {
    publish(state(ring));
    return 0;
}

int SimulatedKernel::reserve_files(io_uring& ring, unsigned count) {
    if (random_.one_in(8)) return -EINVAL;  // as a kernel without the table
    state(ring).files.resize(count);
    return 0;
}

int SimulatedKernel::set_file(io_uring& ring, unsigned index, int fd) {
    RingState& here = state(ring);
    assert(index < here.files.size());
    if (fd >= 0) description(fd);
    here.files[index] = fd < 0 ? nullptr : descriptors_[static_cast<size_t>(fd - descriptor_first)];
    return 1;
}

int SimulatedKernel::open_event() {
    descriptors_.push_back(std::make_shared<Description>());
    return static_cast<int>(descriptors_.size()) - 1 + descriptor_first;
}

void SimulatedKernel::signal_event(int event) {
    Description& open = description(event);
    ++open.count;
    look_at(descriptors_[static_cast<size_t>(event - descriptor_first)]);
}

// ---- The life of an operation ----

void SimulatedKernel::begin(const OperationRef& operation) {
    const Entry& entry = operation->entry;
    if (operation->next && operation->next->entry.opcode == IORING_OP_LINK_TIMEOUT) {
        if (chance(faults.submit_error)) {  // no memory for the wait: the whole chain is cancelled
            cancel(operation);
            return;
        }
        limit_time(operation);
    }
    switch (entry.opcode) {
        case IORING_OP_NOP:
            return end(operation, 0);
        case IORING_OP_READ:
            return operation->on->file ? begin_on_file(operation) : wait_for_event(operation);
        case IORING_OP_WRITE:
        case IORING_OP_FSYNC:
        case IORING_OP_FALLOCATE:
        case IORING_OP_FADVISE:
            return begin_on_file(operation);
        case IORING_OP_POLL_ADD:
        case IORING_OP_RECV:
        case IORING_OP_RECVMSG:
        case IORING_OP_SEND:
        case IORING_OP_SENDMSG:
            return wait_for_socket(operation);
        case IORING_OP_TIMEOUT:
            operation->ring->timeouts.push_back(operation);
            return timeline_.after(ns_of(entry.addr), [this, operation] {
                if (operation->ended || operation->ring->removed) return;
                std::erase(operation->ring->timeouts, operation);
                end(operation, -ETIME);
            });
        default:
            std::fprintf(stderr, "simulation: no such operation: %u\n", entry.opcode);
            std::abort();
    }
}

// Cancels the whole chain, hard links or not.
void SimulatedKernel::cancel(const OperationRef& operation) {
    for (OperationRef at = operation; at != nullptr; at = at->next) {
        assert(!at->ended);
        at->ended = true;
        if (at->transfers) --operations_;
        post(*at->ring, at->entry.user_data, -ECANCELED);
    }
}

void SimulatedKernel::limit_time(const OperationRef& operation) {
    operation->time_limit = operation->next;
    timeline_.after(ns_of(operation->next->entry.addr), [this, operation] {
        if (operation->ended || operation->ring->removed) return;
        OperationRef limit = std::exchange(operation->time_limit, nullptr);
        limit->ended = true;
        operation->next = limit->next;
        post(*limit->ring, limit->entry.user_data, -ETIME);
        const OperationRef found = newest_like(operation);
        if (found->on) std::erase(found->on->waiting, found);
        end(found, -ECANCELED);
    });
}

// Linux finds the operation whose time has run out by its user_data. If others have the same one,
// the newest of them ends instead. The operation then waits on without a limit.
SimulatedKernel::OperationRef SimulatedKernel::newest_like(const OperationRef& operation) const {
    OperationRef newest = operation;
    for (const DescriptionRef& open : descriptors_) {
        if (open == nullptr) continue;
        for (const OperationRef& other : open->waiting) {
            const bool alike = other->ring == operation->ring &&
                               other->entry.user_data == operation->entry.user_data;
            if (alike && other->number > newest->number) newest = other;
        }
    }
    return newest;
}

void SimulatedKernel::end(const OperationRef& operation, int32_t result) {
    assert(!operation->ended);
    if (operation->ring->removed) return;
    operation->ended = true;
    assert(!operation->transfers || operations_ > 0);
    if (operation->transfers) --operations_;
    post(*operation->ring, operation->entry.user_data, result);
    if (OperationRef limit = std::exchange(operation->time_limit, nullptr)) {
        limit->ended = true;
        operation->next = limit->next;
        post(*limit->ring, limit->entry.user_data, -ECANCELED);
    }
    follow(operation, result < 0);
}

void SimulatedKernel::follow(const OperationRef& operation, bool failed) {
    OperationRef next = std::exchange(operation->next, nullptr);
    if (!next) return;
    const bool hard = (operation->entry.flags & IOSQE_IO_HARDLINK) != 0;
    if (failed && !hard) return cancel(next);
    begin(next);
}

void SimulatedKernel::post(RingState& ring, uint64_t user_data, int32_t result) {
    if (ring.removed) return;
    timeline_.note(static_cast<uint64_t>(timeline_.now()));
    timeline_.note(static_cast<uint64_t>(static_cast<uint32_t>(result)));
    io_uring_cqe entry{};
    entry.user_data = user_data;
    entry.res = result;
    ring.held_back.push_back(entry);
    if (ring.defers) {
        ring.sq.flags |= IORING_SQ_TASKRUN;
    } else {
        publish(ring);
    }
    if (ring.asleep) wake(ring);
}

void SimulatedKernel::publish(RingState& ring) {
    while (!ring.held_back.empty() && ring.cq.tail - ring.cq.head < ring.cq.count) {
        ring.cqes[ring.cq.tail & ring.cq.mask] = ring.held_back.front();
        ++ring.cq.tail;
        ring.held_back.pop_front();
    }
    ring.sq.flags = ring.held_back.empty() ? 0 : IORING_SQ_CQ_OVERFLOW;
}

// ---- Events and sockets ----

void SimulatedKernel::wait_for_event(const OperationRef& operation) {
    operation->on->waiting.push_back(operation);
    look_at(operation->on);
}

void SimulatedKernel::wait_for_socket(const OperationRef& operation) {
    assert(operation->on->socket != nullptr);
    const bool transfers = operation->entry.opcode != IORING_OP_POLL_ADD;
    if (transfers && chance(faults.interrupted)) {
        ++interruptions;
        return end(operation, random_.one_in(2) ? -EINTR : -EAGAIN);
    }
    operation->on->waiting.push_back(operation);
    look_at(operation->on);
}

bool SimulatedKernel::may_go_on(const Operation& operation) const {
    const Description& on = *operation.on;
    switch (operation.entry.opcode) {
        case IORING_OP_READ:
            return on.count > 0;
        case IORING_OP_POLL_ADD:
            return (operation.entry.op_flags & POLLOUT) != 0 ? on.socket->writable()
                                                             : on.socket->readable();
        case IORING_OP_RECV:
        case IORING_OP_RECVMSG:
            return on.socket->readable();
        default:
            return on.socket->unsent_bytes() < on.socket->wire().room_bytes ||
                   on.socket->writable();
    }
}

void SimulatedKernel::look_at(const DescriptionRef& on) {
    for (const OperationRef& operation : on->waiting) {
        if (operation->scheduled || !may_go_on(*operation)) continue;
        operation->scheduled = true;
        const auto delay = static_cast<hrtime_t>(random_.between(1, socket_ns_max));
        timeline_.after(delay, [this, operation] { go_on(operation); });
    }
}

void SimulatedKernel::go_on(const OperationRef& operation) {
    operation->scheduled = false;
    if (operation->ended || operation->ring->removed || !may_go_on(*operation)) return;
    Description& on = *operation->on;
    switch (operation->entry.opcode) {
        case IORING_OP_READ:
            std::erase(on.waiting, operation);
            *reinterpret_cast<uint64_t*>(operation->entry.addr) = std::exchange(on.count, 0);
            return end(operation, sizeof(uint64_t));
        case IORING_OP_POLL_ADD:
            std::erase(on.waiting, operation);
            return end(operation, static_cast<int32_t>(operation->entry.op_flags));
        case IORING_OP_RECV:
        case IORING_OP_RECVMSG:
            return receive(operation);
        default:
            return send(operation);
    }
}

void SimulatedKernel::receive(const OperationRef& operation) {
    Description& on = *operation->on;
    int64_t result = 0;
    for (; operation->piece < operation->pieces.size(); ++operation->piece) {
        const iovec& piece = operation->pieces[operation->piece];
        size_t bytes = piece.iov_len;
        const bool cut = bytes > 1 && chance(faults.short_transfer);
        if (cut) bytes = random_.between(1, bytes - 1);
        result = on.socket->receive({static_cast<std::byte*>(piece.iov_base), bytes});
        if (result > 0) operation->moved += static_cast<uint64_t>(result);
        if (result < static_cast<int64_t>(piece.iov_len)) break;
    }
    if (operation->moved == 0 && result == -EAGAIN) return;
    std::erase(on.waiting, operation);
    timeline_.note(operation->moved);
    end(operation, static_cast<int32_t>(
                       operation->moved > 0 ? static_cast<int64_t>(operation->moved) : result));
}

// Sends until all is sent, as MSG_WAITALL requires, unless interrupted.
void SimulatedKernel::send(const OperationRef& operation) {
    Description& on = *operation->on;
    int64_t result = 0;
    bool cut = false;
    while (operation->piece < operation->pieces.size() && !cut) {
        iovec& piece = operation->pieces[operation->piece];
        size_t bytes = piece.iov_len;
        if (bytes > 1 && chance(faults.short_transfer)) {
            bytes = random_.between(1, bytes - 1);
            cut = true;
        }
        result = on.socket->send({static_cast<std::byte*>(piece.iov_base), bytes});
        if (result < 0) break;
        operation->moved += static_cast<uint64_t>(result);
        piece.iov_base = static_cast<std::byte*>(piece.iov_base) + result;
        piece.iov_len -= static_cast<size_t>(result);
        if (piece.iov_len == 0) ++operation->piece;
    }
    const bool all = operation->piece == operation->pieces.size();
    const bool wait = (operation->entry.op_flags & MSG_WAITALL) != 0 || operation->moved == 0;
    if (!all && !cut && result == -EAGAIN && wait) return;  // continues when there is room
    std::erase(on.waiting, operation);
    timeline_.note(operation->moved);
    end(operation,
        static_cast<int32_t>(operation->moved > 0 || all ? static_cast<int64_t>(operation->moved)
                                                         : result));
}

void SimulatedKernel::shutdown(int socket, int how) {
    description(socket).socket->shut_down(how != SHUT_WR, how != SHUT_RD);
}

ssize_t SimulatedKernel::send_now(int socket, std::span<const std::byte> bytes) {
    return description(socket).socket->send(bytes);
}

int64_t SimulatedKernel::unsent_bytes(int socket) {
    return static_cast<int64_t>(description(socket).socket->unsent_bytes());
}

bool SimulatedKernel::has_input(int socket) {
    return description(socket).socket->readable();
}

bool SimulatedKernel::set_up_if_unix(int socket, int send_bytes) {
    assert(send_bytes > 0);
    return description(socket).socket->wire().is_unix;
}

void SimulatedKernel::close(int fd) {
    description(fd);
    DescriptionRef& place = descriptors_[static_cast<size_t>(fd - descriptor_first)];
    const DescriptionRef open = std::exchange(place, nullptr);
    const bool last =
        std::find(descriptors_.begin(), descriptors_.end(), open) == descriptors_.end();
    if (open->socket && last) {
        assert(open->waiting.empty());  // a connection closes its socket only without operations
        open->socket->close();
    }
}

// Each reading takes time, so that no two moments of a turn are the same.
hrtime_t SimulatedKernel::now() {
    timeline_.spend(reading_ns);
    return clock.read(timeline_.now());
}

void SimulatedKernel::correct_clock() {
    timeline_.spend(reading_ns);
    clock.correct(timeline_.now());
}

}  // namespace blkscope::simulation
