#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <climits>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <limits>

#include "base/clock.hpp"
#include "blockdev/ring/kernel.hpp"
#include "blockdev/ring/set_up_failure.hpp"

namespace blkscope {
namespace {

constexpr size_t pages_asked_max = 64;  // by one mincore(2)

// Best first; older kernels support fewer flags. With DEFER_TASKRUN the kernel runs completions
// only when the worker asks for them, which batches them. TASKRUN_FLAG shows in shared memory that
// some are there.
constexpr unsigned setup_flags[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
        IORING_SETUP_SUBMIT_ALL | IORING_SETUP_R_DISABLED,
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL |
        IORING_SETUP_R_DISABLED,
    IORING_SETUP_R_DISABLED,
};

// A system call's result in the kernel's own form: -errno instead of -1.
template <class Result>
Result or_error(Result result) {
    return result < 0 ? static_cast<Result>(-errno) : result;
}

size_t system_page_bytes() {
    static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

// A copy returns here when its memory is no longer there. Volatile, because only the handler reads
// it.
thread_local sigjmp_buf* volatile landing = nullptr;
struct sigaction before_us;

void on_bus_error(int signal) {
    if (landing != nullptr) siglongjmp(*landing, 1);
    sigaction(signal, &before_us, nullptr);  // not ours: the access is repeated
}

void catch_bus_errors() {
    static const bool once = [] {
        struct sigaction action {};
        action.sa_handler = on_bus_error;
        action.sa_flags = SA_NODEFER;  // the jump out does not unblock the signal
        return sigaction(SIGBUS, &action, &before_us) == 0;
    }();
    static_cast<void>(once);
}

class LinuxKernel final : public Kernel {
  public:
    int set_up(unsigned entries, io_uring& ring) override;
    void tear_down(io_uring& ring) override { io_uring_queue_exit(&ring); }
    int enable(io_uring& ring) override;
    int submit(io_uring& ring, unsigned wait_for, hrtime_t ns_max) override;
    int take_completions(io_uring& ring) override { return io_uring_get_events(&ring); }
    int reserve_files(io_uring& ring, unsigned count) override {
        return count > 0 ? io_uring_register_files_sparse(&ring, count)
                         : io_uring_unregister_files(&ring);
    }
    int set_file(io_uring& ring, unsigned index, int fd) override {
        assert(fd >= -1);
        return io_uring_register_files_update(&ring, index, &fd, 1);
    }
    int open_event() override { return or_error(eventfd(0, EFD_CLOEXEC)); }
    void signal_event(int event) override { eventfd_write(event, 1); }

    ssize_t pread(int fd, std::span<std::byte> to, uint64_t at) override {
        assert(at <= INT64_MAX);
        return or_error(::pread(fd, to.data(), to.size(), static_cast<off_t>(at)));
    }
    ssize_t pwrite(int fd, std::span<const std::byte> from, uint64_t at) override {
        assert(at <= INT64_MAX);
        return or_error(::pwrite(fd, from.data(), from.size(), static_cast<off_t>(at)));
    }
    int64_t seek(int fd, uint64_t at, int whence) override {
        assert(at <= INT64_MAX);
        // While a disk zeroes a range, lseek(2) waits there.
        uint64_t disk_bytes = 0;
        if (whence == SEEK_END && ::ioctl(fd, BLKGETSIZE64, &disk_bytes) == 0) {
            return static_cast<int64_t>(disk_bytes);
        }
        return or_error(::lseek(fd, static_cast<off_t>(at), whence));
    }
    int failed_write_back(int fd) override;
    int64_t allocated_bytes(int fd) override {
        constexpr int64_t block_bytes = 512;
        struct stat info {};
        return ::fstat(fd, &info) == 0 ? info.st_blocks * block_bytes : -errno;
    }
    int discard(int fd, uint64_t at, uint64_t bytes) override {
        std::array<uint64_t, 2> range{at, bytes};
        return or_error(::ioctl(fd, BLKDISCARD, range.data()));
    }
    std::byte* map(int fd, uint64_t bytes) override;
    void unmap(std::byte* start, uint64_t bytes) override { munmap(start, bytes); }
    bool copy(std::byte* to, std::span<const std::byte> from) override;
    bool is_cached(const std::byte* first, uint64_t bytes) override;
    void forget(std::byte* first, uint64_t bytes) override { madvise(first, bytes, MADV_DONTNEED); }

    void shutdown(int socket, int how) override { ::shutdown(socket, how); }
    ssize_t send_now(int socket, std::span<const std::byte> bytes) override {
        return or_error(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    int64_t unsent_bytes(int socket) override;
    bool has_input(int socket) override;
    bool set_up_if_unix(int socket, int send_bytes) override;
    void close(int fd) override {
        assert(fd >= 0);
        ::close(fd);
    }

    hrtime_t now() override { return now_unscaled(); }
    void correct_clock() override { blkscope::correct_clock(); }
};

int LinuxKernel::set_up(unsigned entries, io_uring& ring) {
    assert(entries > 0);
    assert(entries <= UINT_MAX / completion_queue_factor);
    int error = -EINVAL;
    for (const unsigned flags : setup_flags) {
        io_uring_params params{};
        params.flags = flags | IORING_SETUP_CQSIZE;
        params.cq_entries = entries * completion_queue_factor;
        error = io_uring_queue_init_params(entries, &ring, &params);
        if (error != -EINVAL) break;
    }
    return error;
}

int LinuxKernel::enable(io_uring& ring) {
    // Debian 12's liburing declares io_uring_enable_rings() and does not export it.
    const long result = or_error(
        syscall(__NR_io_uring_register, ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0));
    if (result < 0) return static_cast<int>(result);
    io_uring_register_ring_fd(&ring);  // optional: saves a descriptor look-up per wait
    return 0;
}

// A sleep with a limit has a call of its own. One call for both would begin the time again after
// the submission. The limit is relative, because our clock and CLOCK_MONOTONIC drift apart.
int LinuxKernel::submit(io_uring& ring, unsigned wait_for, hrtime_t ns_max) {
    assert(ns_max > 0);
    if (wait_for == 0) return io_uring_submit(&ring);
    if (ns_max == forever) return io_uring_submit_and_wait(&ring, wait_for);
    assert(wait_for == 1);
    const int submitted = io_uring_submit(&ring);
    if (submitted < 0) return submitted;
    __kernel_timespec time{.tv_sec = ns_max / ns_per_s, .tv_nsec = ns_max % ns_per_s};
    io_uring_cqe* completion = nullptr;
    const int result = io_uring_wait_cqe_timeout(&ring, &completion, &time);
    return result < 0 && result != -ETIME ? result : submitted;
}

// No file has a page there, so there is none to wait for. The call then tells what fsync(2) would.
int LinuxKernel::failed_write_back(int fd) {
    constexpr off_t last = std::numeric_limits<off_t>::max() - 1;
    return static_cast<int>(or_error(sync_file_range(fd, last, 1, SYNC_FILE_RANGE_WAIT_BEFORE)));
}

std::byte* LinuxKernel::map(int fd, uint64_t bytes) {
    assert(bytes > 0);
    void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (start == MAP_FAILED) return nullptr;
    catch_bus_errors();
    return static_cast<std::byte*>(start);
}

// The fences keep the copy's stores between the two assignments of `landing`.
bool LinuxKernel::copy(std::byte* to, std::span<const std::byte> from) {
    assert(to != nullptr);
    assert(landing == nullptr);  // a copy within a copy would return to the wrong place
    sigjmp_buf here;
    if (sigsetjmp(here, 0) != 0) {
        landing = nullptr;
        return false;
    }
    landing = &here;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::memcpy(to, from.data(), from.size());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    landing = nullptr;
    return true;
}

bool LinuxKernel::is_cached(const std::byte* first, uint64_t bytes) {
    std::array<unsigned char, pages_asked_max> cached{};
    const auto address = reinterpret_cast<uintptr_t>(first);
    uintptr_t page = address - address % system_page_bytes();
    assert(bytes <= UINTPTR_MAX - address);
    const uintptr_t end = address + bytes;
    while (page < end) {
        const size_t pages =
            std::min((end - page + system_page_bytes() - 1) / system_page_bytes(), pages_asked_max);
        assert(pages > 0 && pages <= cached.size());
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of a page, which is no object
        void* const address_of_page = reinterpret_cast<void*>(page);
        if (mincore(address_of_page, pages * system_page_bytes(), cached.data()) != 0) return false;
        const auto is_there = [](unsigned char flags) { return (flags & 1) != 0; };
        if (!std::all_of(cached.begin(), cached.begin() + pages, is_there)) return false;
        page += pages * system_page_bytes();
    }
    return true;
}

int64_t LinuxKernel::unsent_bytes(int socket) {
    int bytes = 0;
    const int result = or_error(ioctl(socket, SIOCOUTQ, &bytes));
    return result < 0 ? result : bytes;
}

bool LinuxKernel::has_input(int socket) {
    std::byte next{};
    return ::recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

// The kernel gives a Unix socket twice the bytes that are asked for. A refusal only costs speed.
bool LinuxKernel::set_up_if_unix(int socket, int send_bytes) {
    assert(send_bytes > 0);
    assert(send_bytes <= INT_MAX / 2);
    int value = 0;
    socklen_t value_bytes = sizeof value;
    if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &value, &value_bytes) != 0) return false;
    if (value != AF_UNIX) return false;
    if (getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &value, &value_bytes) != 0) return true;
    if (value >= 2 * send_bytes) return true;  // net.core.wmem_default has been raised
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    return true;
}

}  // namespace

Kernel& linux_kernel() {
    static LinuxKernel kernel;
    return kernel;
}

}  // namespace blkscope
