// The same code has the same results on Linux and on the simulated kernel. TLS has a fixed clock.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "blockdev/ring/ring.hpp"
#include "simulated_kernel.hpp"
#include "simulated_tls.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t file_bytes = 65536;

struct Result final : Completion {
    void complete(int32_t result) override { results->push_back(result); }
    std::vector<int32_t>* results = nullptr;
};

/// A kernel with a file, a socket and a peer.
class World {
  public:
    virtual ~World() = default;
    World() = default;
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    virtual Kernel& kernel() = 0;
    virtual void wait(Ring& ring) = 0;
    virtual void peer_sends(const std::string& text) = 0;
    virtual void peer_closes() = 0;

    int file = -1;
    int socket = -1;
};

class LinuxWorld final : public World {
  public:
    LinuxWorld() {
        char path[] = "/tmp/kernel_test.XXXXXX";
        file = mkstemp(path);
        unlink(path);
        if (ftruncate(file, file_bytes) != 0) std::abort();
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
        socket = ends[0];
        peer_ = ends[1];
    }
    ~LinuxWorld() override {
        close(file);
        close(socket);
        if (peer_ >= 0) close(peer_);
    }
    LinuxWorld(const LinuxWorld&) = delete;
    LinuxWorld& operator=(const LinuxWorld&) = delete;

    Kernel& kernel() override { return linux_kernel(); }
    void wait(Ring& ring) override { ring.wait(); }
    void peer_sends(const std::string& text) override {
        if (send(peer_, text.data(), text.size(), 0) < 0) std::abort();
    }
    void peer_closes() override {
        close(peer_);
        peer_ = -1;
    }

  private:
    int peer_ = -1;
};

class SimulatedWorld final : public World {
  public:
    explicit SimulatedWorld(uint64_t seed) : random_(seed, 1), kernel_(timeline_, seed) {
        file = kernel_.open_file(std::make_shared<SimulatedFile>(file_bytes));
        auto [ours, theirs] = SimulatedSocket::pair(timeline_, random_, Wire{});
        socket = kernel_.open_socket(ours);
        peer_ = theirs;
    }
    Kernel& kernel() override { return kernel_; }
    void wait(Ring& ring) override {
        ring.wait();
        while (kernel_.asleep(0) && timeline_.step()) {
        }
    }
    void peer_sends(const std::string& text) override {
        peer_->send(std::as_bytes(std::span(text)));
    }
    void peer_closes() override { peer_->close(); }

  private:
    Timeline timeline_;
    Random random_;
    SimulatedKernel kernel_;
    std::shared_ptr<SimulatedSocket> peer_;
};

/// Performs each operation in order and keeps the results.
class Script {
  public:
    explicit Script(World& world) : world_(world), ring_(16, false, world.kernel()) {
        ring_.enable();
        result_.results = &results_;
    }

    template <class Prepare>
    void operation(Prepare prepare) {
        const size_t before = results_.size();
        ring_.prepare(result_, prepare);
        run_until(before + 1);
    }

    void run_until(size_t results) {
        while (results_.size() < results) {
            world_.wait(ring_);
            ring_.dispatch();
        }
    }

    std::vector<int32_t> play() {
        std::vector<char> out(8192, 'a');
        std::vector<char> in(8192, 'b');
        const int fd = world_.file;
        operation([&](auto* at) { io_uring_prep_write(at, fd, out.data(), 8192, 4096); });
        operation([&](auto* at) { io_uring_prep_read(at, fd, in.data(), 8192, 4096); });
        EXPECT_EQ(in, out);
        operation([&](auto* at) { io_uring_prep_read(at, fd, in.data(), 8192, file_bytes - 512); });
        operation([&](auto* at) { io_uring_prep_read(at, fd, in.data(), 8192, file_bytes); });
        operation([&](auto* at) { io_uring_prep_fsync(at, fd, IORING_FSYNC_DATASYNC); });
        operation([&](auto* at) {
            io_uring_prep_fallocate(at, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096);
        });
        operation([&](auto* at) { io_uring_prep_read(at, fd, in.data(), 4096, 4096); });
        EXPECT_EQ(in[0], 0);
        operation([&](auto* at) { io_uring_prep_nop(at); });
        __kernel_timespec soon{.tv_sec = 0, .tv_nsec = 1'000'000};
        operation([&](auto* at) { io_uring_prep_timeout(at, &soon, 0, 0); });
        play_sockets();
        play_time_limits();
        return results_;
    }

  private:
    // Two waits with the same user_data: the time of the first one ends the second one.
    void play_time_limits() {
        const __kernel_timespec soon{.tv_sec = 0, .tv_nsec = 1'000'000};
        const __kernel_timespec late{.tv_sec = 100, .tv_nsec = 0};
        const size_t before = results_.size();
        for (const __kernel_timespec* limit : {&soon, &late}) {
            ring_.prepare(result_, [&](auto* at) {
                io_uring_prep_poll_add(at, world_.socket, POLLIN);
                at->flags |= IOSQE_IO_HARDLINK;
            });
            ring_.prepare(result_, [&](auto* at) {
                io_uring_prep_link_timeout(at, const_cast<__kernel_timespec*>(limit), 0);
            });
        }
        run_until(before + 3);
        world_.peer_sends("four");
        run_until(before + 4);
    }

    void play_sockets() {
        char text[64] = {};
        const int socket = world_.socket;
        world_.peer_sends("twelve bytes");
        operation([&](auto* at) { io_uring_prep_recv(at, socket, text, 6, 0); });
        operation([&](auto* at) { io_uring_prep_recv(at, socket, text + 6, 6, MSG_WAITALL); });
        EXPECT_STREQ(text, "twelve bytes");
        operation([&](auto* at) { io_uring_prep_send(at, socket, text, 12, MSG_NOSIGNAL); });
        world_.peer_sends("four");
        const __kernel_timespec limit{.tv_sec = 10, .tv_nsec = 0};
        const size_t before = results_.size();
        ring_.prepare_when_writable(socket, limit, result_, [&](io_uring_sqe* at) {
            io_uring_prep_recv(at, socket, text, sizeof text, 0);
        });
        run_until(before + 1);
        ring_.completed(result_, 42);
        run_until(before + 2);
        ring_.post(result_, 43);
        run_until(before + 3);
    }

    World& world_;
    Ring ring_;
    Result result_;
    std::vector<int32_t> results_;
};

TEST(SimulatedKernel, ComesToWhatLinuxComesTo) {
    LinuxWorld real;
    const std::vector<int32_t> expected = Script(real).play();
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        SimulatedWorld simulated(seed);
        EXPECT_EQ(Script(simulated).play(), expected) << "seed " << seed;
    }
}

std::vector<std::byte> first_bytes(const Image& image, uint64_t count) {
    std::vector<std::byte> bytes(count);
    image.read(0, bytes);
    return bytes;
}

TEST(SimulatedFile, KeepsWhatWasSyncedThroughACrash) {
    Random random(1, 1);
    SimulatedFile file(8192);
    const std::vector<std::byte> ones(4096, std::byte{1});
    file.write(0, ones);
    file.sync();
    file.write(4096, ones);
    EXPECT_EQ(first_bytes(file.crash(random), 4096), ones);
}

TEST(SimulatedFile, LosesWhatAFailedSyncHasGivenUp) {
    Random random(1, 1);
    SimulatedFile file(65536);
    const std::vector<std::byte> ones(65536, std::byte{1});
    file.write(0, ones);
    file.fail_sync(random);
    file.sync();
    EXPECT_NE(first_bytes(file.disk(), ones.size()), ones);
    EXPECT_EQ(file.errors(), 1U);
}

TEST(SimulatedFile, IsTruncatedAsAFileOfLinuxIs) {
    LinuxWorld real;
    const std::vector<std::byte> ones(file_bytes, std::byte{1});
    SimulatedFile file(ones);
    ASSERT_EQ(pwrite(real.file, ones.data(), ones.size(), 0), ssize_t{file_bytes});
    const auto expect_the_same = [&] {
        for (uint64_t at = 0; at < file_bytes; at += 1536) {
            std::vector<std::byte> expected(4096);
            std::vector<std::byte> found(4096);
            const ssize_t bytes =
                pread(real.file, expected.data(), expected.size(), static_cast<off_t>(at));
            EXPECT_EQ(file.read(at, found), static_cast<uint64_t>(bytes)) << "at " << at;
            EXPECT_EQ(found, expected) << "at " << at;
        }
        EXPECT_EQ(file.length(), static_cast<uint64_t>(lseek(real.file, 0, SEEK_END)));
    };
    ASSERT_EQ(ftruncate(real.file, 10'752), 0);
    file.truncate(10'752);
    expect_the_same();
    ASSERT_EQ(pwrite(real.file, ones.data(), 512, 40'960), 512);
    file.write(40'960, std::span(ones).first(512));
    expect_the_same();
}

TEST(SimulatedFile, LosesACopyBehindItsEndAndFailsBehindItsLastPage) {
    SimulatedFile file(65536);
    file.truncate(4096 + 512);
    const std::vector<std::byte> ones(1024, std::byte{1});
    EXPECT_TRUE(file.copy(4096, ones));
    EXPECT_FALSE(file.copy(8192, ones));
    EXPECT_EQ(file.length(), 4096U + 512U);
    file.write(16384, ones);
    std::vector<std::byte> found(1024);
    EXPECT_EQ(file.read(4096, found), 1024U);
    EXPECT_EQ(found[511], std::byte{1});
    EXPECT_EQ(found[512], std::byte{0});
}

TEST(SimulatedTls, HasAFixedClock) {
    const SeededRandomness seeded(1);
    EXPECT_EQ(std::time(nullptr), tls_clock);
    SSL_SESSION* const session = SSL_SESSION_new();
    EXPECT_EQ(SSL_SESSION_get_time(session), tls_clock);
    SSL_SESSION_free(session);
}

}  // namespace
}  // namespace blkscope::simulation
