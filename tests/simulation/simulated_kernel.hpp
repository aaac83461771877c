// SimulatedKernel: io_uring, files and sockets in plain memory and virtual time.
//
//     Ring ── entries ──▶ submit() ─▶ Operation ── at a time from the seed ──▶ completion
//      ▲                                  │ linked ones follow                     │
//      └────── woken by a completion ◀────┴────────────────────────────────────────┘
//
// submit() never sleeps. A ring that would sleep is `asleep` until a completion; then the scheduler
// gives its worker a turn.
//
// The real kernel's rare results occur here at random. submit() gives EINTR, EAGAIN or EBUSY, or
// takes fewer entries. Completions wait until the ring asks for them, or overflow the queue.
// Transfers are short.
//
// Units:     bytes; nanoseconds, which are the ticks.
// Ownership: descriptors belong to the caller, as with the system calls. An operation borrows its
//            memory until the completion.
// Threads:   a single one.
// Errors:    as the system calls. A call that the real kernel could not accept aborts.
// Source:    io_uring_enter(2), io_uring_setup(2).
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "blockdev/ring/kernel.hpp"
#include "random.hpp"
#include "simulated_clock.hpp"
#include "simulated_file.hpp"
#include "simulated_socket.hpp"
#include "timeline.hpp"

namespace blkscope::simulation {

/// Each fault happens once in so many operations; 0: never.
struct Faults {
    uint64_t short_transfer = 0;
    uint64_t interrupted = 0;  // EINTR or EAGAIN of a file operation or a socket's
    uint64_t read_error = 0;
    uint64_t write_error = 0;  // EIO or ENOSPC of a write or a fallocate
    uint64_t sync_error = 0;
    uint64_t submit_error = 0;
    uint64_t short_submit = 0;
};

/// The time that an operation on a file takes.
struct Disk {
    hrtime_t ns_min = 1'000;
    hrtime_t ns_max = 100'000;
    bool can_punch = true;
    bool can_zero_range = true;
};

/// An operation on a file that has failed.
struct Failure {
    const SimulatedFile* file = nullptr;
    bool syncs = false;
    uint64_t at = 0;
    uint64_t bytes = 0;
    int error = 0;
    hrtime_t when = 0;
};

class SimulatedKernel final : public Kernel {
  public:
    SimulatedKernel(Timeline& timeline, uint64_t seed);
    ~SimulatedKernel();

    Faults faults;
    Disk disk;
    SimulatedClock clock;

    // ---- For the scheduler ----

    /// Sets the function to call when a sleeping ring has completions.
    void when_ready(unsigned ring, std::function<void()> wake);
    /// Rings are numbered in order of creation.
    [[nodiscard]] bool asleep(unsigned ring) const { return rings_.at(ring)->asleep; }
    [[nodiscard]] unsigned rings() const { return static_cast<unsigned>(rings_.size()); }

    int open_file(std::shared_ptr<SimulatedFile> file, bool direct = false);
    int open_socket(std::shared_ptr<SimulatedSocket> socket);
    /// A second descriptor of the same open description.
    int duplicate(int fd);
    [[nodiscard]] unsigned open_descriptors() const;
    [[nodiscard]] unsigned open_sockets() const;
    [[nodiscard]] bool has_open(const SimulatedFile& file) const;
    /// Whether a descriptor is the other end of this socket.
    [[nodiscard]] bool has_peer_of(const SimulatedSocket& socket) const;
    /// Operations on files and sockets that are not complete.
    [[nodiscard]] uint64_t operations() const { return operations_; }

    /// The failures that the kernel made: of syncs, and of all other operations.
    uint64_t sync_failures = 0;
    uint64_t other_failures = 0;
    uint64_t interruptions = 0;
    std::vector<Failure> failures;  // all of these

    // ---- Kernel ----

    int set_up(unsigned entries, io_uring& ring) override;
    void tear_down(io_uring& ring) override;
    int enable(io_uring& ring) override;
    int submit(io_uring& ring, unsigned wait_for, hrtime_t ns_max) override;
    int take_completions(io_uring& ring) override;
    int reserve_files(io_uring& ring, unsigned count) override;
    int set_file(io_uring& ring, unsigned index, int fd) override;
    int open_event() override;
    void signal_event(int event) override;
    ssize_t pread(int fd, std::span<std::byte> to, uint64_t at) override;
    ssize_t pwrite(int fd, std::span<const std::byte> from, uint64_t at) override;
    int64_t seek(int fd, uint64_t at, int whence) override;
    int failed_write_back(int fd) override;
    std::byte* map(int fd, uint64_t bytes) override;
    void unmap(std::byte* start, uint64_t bytes) override;
    bool copy(std::byte* to, std::span<const std::byte> from) override;
    bool is_cached(const std::byte* first, uint64_t bytes) override;
    void forget(std::byte* first, uint64_t bytes) override;
    void shutdown(int socket, int how) override;
    ssize_t send_now(int socket, std::span<const std::byte> bytes) override;
    int64_t unsent_bytes(int socket) override;
    bool has_input(int socket) override;
    bool set_up_if_unix(int socket, int send_bytes) override;
    void close(int fd) override;
    hrtime_t now() override;
    void correct_clock() override;

  private:
    struct Operation;
    using OperationRef = std::shared_ptr<Operation>;

    /// The open description of a descriptor.
    struct Description {
        std::shared_ptr<SimulatedFile> file;
        std::shared_ptr<SimulatedSocket> socket;
        bool direct = false;
        uint64_t errors_seen = 0;  // of the file
        uint64_t count = 0;        // of an event
        std::vector<OperationRef> waiting;
    };
    using DescriptionRef = std::shared_ptr<Description>;

    struct Entries {
        unsigned head = 0;
        unsigned tail = 0;
        unsigned mask = 0;
        unsigned count = 0;
        unsigned flags = 0;
        unsigned dropped = 0;
    };

    struct RingState {
        Entries sq;
        Entries cq;
        std::vector<io_uring_sqe> sqes;
        std::vector<unsigned> array;
        std::vector<io_uring_cqe> cqes;
        std::deque<io_uring_cqe> held_back;
        std::vector<DescriptionRef> files;
        std::vector<OperationRef> timeouts;
        bool defers = false;  // completions wait until the ring asks for them
        bool enabled = false;
        bool asleep = false;
        uint64_t sleeps = 0;
        bool removed = false;
        unsigned refusals = 0;  // failures in a row
        std::function<void()> wake;
    };

    /// The fields of an entry that are used here.
    struct Entry {
        uint8_t opcode = 0;
        uint8_t flags = 0;
        int fd = -1;
        uint64_t off = 0;
        uint64_t addr = 0;
        uint32_t len = 0;
        uint32_t op_flags = 0;  // of the write, the message or the poll
        uint64_t user_data = 0;
    };

    /// A submitted entry.
    struct Operation {
        RingState* ring = nullptr;
        uint64_t number = 0;  // in the order of submission
        Entry entry;
        DescriptionRef on;
        std::vector<iovec> pieces;
        size_t piece = 0;
        uint64_t moved = 0;
        bool transfers = false;  // on a file or a socket
        bool ended = false;
        bool scheduled = false;   // a socket's transfer has its time
        OperationRef next;        // the next linked one
        OperationRef time_limit;  // the timeout linked to this one
    };

    RingState& state(const io_uring& ring) { return *rings_.at(static_cast<size_t>(ring.ring_fd)); }
    Description& description(int fd);
    bool chance(uint64_t one_in) { return random_.one_in(one_in); }
    hrtime_t disk_time();

    unsigned take_entries(RingState& ring, unsigned most);
    OperationRef make_operation(RingState& ring, const io_uring_sqe& entry);
    void list_pieces(Operation& operation);
    void begin(const OperationRef& operation);
    void end(const OperationRef& operation, int32_t result);
    void follow(const OperationRef& operation, bool failed);
    void post(RingState& ring, uint64_t user_data, int32_t result);
    void publish(RingState& ring);
    void limit_sleep(RingState& ring, hrtime_t ns_max);
    void wake(RingState& ring);

    void begin_on_file(const OperationRef& operation);
    void end_on_file(const OperationRef& operation, int32_t result, hrtime_t rest);
    int32_t do_on_file(Operation& operation);
    int32_t read_file(Operation& operation);
    int32_t write_file(Operation& operation);
    static bool is_synced(const Operation& operation);
    int32_t sync_written(Operation& operation, int32_t written);
    int fail_or_tell(Description& on);
    static int tell_error(Description& on);
    int32_t sync_file(Operation& operation);
    int32_t allocate(Operation& operation);
    int32_t file_fault(const Operation& operation);
    int32_t draw_file_fault(const Operation& operation);
    void wait_for_event(const OperationRef& operation);
    void wait_for_socket(const OperationRef& operation);
    void look_at(const DescriptionRef& on);
    [[nodiscard]] bool may_go_on(const Operation& operation) const;
    void go_on(const OperationRef& operation);
    void receive(const OperationRef& operation);
    void send(const OperationRef& operation);
    void limit_time(const OperationRef& operation);
    [[nodiscard]] OperationRef newest_like(const OperationRef& operation) const;
    void cancel(const OperationRef& operation);

    int read_errno();
    int write_errno(bool fills);
    void note_failure(const SimulatedFile& file, uint64_t at, uint64_t bytes, int error);

    Timeline& timeline_;
    Random random_;
    Random errors_;  // of its own, so that all else stays as it was
    std::vector<std::unique_ptr<RingState>> rings_;
    std::vector<DescriptionRef> descriptors_;
    // may outlive descriptors
    std::map<const std::byte*, std::shared_ptr<SimulatedFile>> mappings_;
    uintptr_t next_mapping_ = uintptr_t{1} << 44;  // an address
    uint64_t operations_ = 0;
    uint64_t operations_made_ = 0;
};

}  // namespace blkscope::simulation
