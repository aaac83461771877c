// The cost of a request beside the copying: nothing from the heap, and system calls only by the
// batch.
//
// Requests come in batches of 32 in one send, and the next batch when all are answered. So the
// number that the server finds at once does not depend on the scheduler.

#include <endian.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

using nbd::Command;

constexpr uint64_t device_bytes = 64 * mib;
constexpr uint32_t block_bytes = 4096;
constexpr int depth = 32;

/// A connection that libnbd has negotiated, and whose bytes are then ours.
class BatchClient {
  public:
    explicit BatchClient(const std::string& uri)
        : client_(uri), socket_(nbd_aio_get_fd(client_.get())) {}

    /// Sends `depth` requests of one kind at random blocks, and takes their replies.
    void batch(Command type) {
        const bool carries_data = type == Command::write;
        request_.clear();
        for (int i = 0; i < depth; ++i) {
            append_header(type);
            if (carries_data) request_.resize(request_.size() + block_bytes, 'b');
        }
        transfer(POLLOUT, request_.data(), request_.size());
        reply_.resize(depth * reply_bytes(type));
        transfer(POLLIN, reply_.data(), reply_.size());
        expect_success(type);
    }

    void batches(int count, Command type) {
        for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) batch(type);
    }

  private:
    static bool structured(Command type) {
        return type == Command::read || type == Command::block_status;
    }

    // libnbd negotiates structured replies, and a block of these devices is one extent.
    static size_t reply_bytes(Command type) {
        constexpr size_t data_chunk = nbd::structured_reply_bytes + sizeof(uint64_t) + block_bytes;
        constexpr size_t status_chunk = nbd::structured_reply_bytes + 3 * sizeof(uint32_t);
        if (type == Command::read) return data_chunk;
        return type == Command::block_status ? status_chunk : nbd::simple_reply_bytes;
    }

    template <class T>
    void append(T value) {
        const auto* bytes = reinterpret_cast<const char*>(&value);
        request_.insert(request_.end(), bytes, bytes + sizeof value);
    }

    void append_header(Command type) {
        const bool flush = type == Command::flush;
        const uint64_t block = random_() % (device_bytes / block_bytes);
        append(htobe32(nbd::request_magic));
        append(htobe16(0));
        append(htobe16(static_cast<uint16_t>(type)));
        append(uint64_t{0});
        append(htobe64(flush ? 0 : block * block_bytes));
        append(htobe32(flush ? 0 : block_bytes));
    }

    // The socket does not block, which libnbd has seen to.
    void transfer(short direction, char* bytes, size_t size) {
        while (size > 0) {
            pollfd ready{.fd = socket_, .events = direction, .revents = 0};
            ASSERT_EQ(poll(&ready, 1, 20'000), 1) << "the server has stopped to answer";
            const ssize_t part = direction == POLLOUT
                                     ? send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                                     : recv(socket_, bytes, size, MSG_DONTWAIT);
            if (part < 0 && errno == EAGAIN) continue;
            ASSERT_GT(part, 0) << std::strerror(errno);
            bytes += part;
            size -= static_cast<size_t>(part);
        }
    }

    void expect_success(Command type) const {
        for (size_t at = 0; at < reply_.size(); at += reply_bytes(type)) {
            uint32_t words[2];
            std::memcpy(words, reply_.data() + at, sizeof words);
            const uint32_t said = be32toh(words[1]);
            if (structured(type)) {
                const nbd::Chunk chunk =
                    type == Command::read ? nbd::Chunk::offset_data : nbd::Chunk::block_status;
                ASSERT_EQ(be32toh(words[0]), nbd::structured_reply_magic);
                ASSERT_EQ(said, nbd::chunk_flag::done << 16 | static_cast<uint32_t>(chunk));
            } else {
                ASSERT_EQ(be32toh(words[0]), nbd::simple_reply_magic);
                ASSERT_EQ(said, 0u);
            }
        }
    }

    Client client_;
    int socket_;
    std::mt19937_64 random_{20260721};
    std::vector<char> request_;
    std::vector<char> reply_;
};

class RequestCost : public ServedDevice, public ::testing::WithParamInterface<const char*> {
  protected:
    std::string backing() {
        return std::string(GetParam()) == "file" ? make_image("disk.img", device_bytes)
                                                 : "memory:64M";
    }
};

// ---- The heap ----

class Allocations : public RequestCost {
  protected:
    /// Starts the server with the counter preloaded.
    void serve_counted() {
        std::ofstream(path("count"), std::ios::binary).write("\0\0\0\0\0\0\0", sizeof(uint64_t));
        setenv("ALLOCATION_COUNT", path("count").c_str(), 1);
        setenv("LD_PRELOAD", ALLOCATION_COUNTER, 1);
        serve(backing());
        unsetenv("LD_PRELOAD");
        unsetenv("ALLOCATION_COUNT");
    }

    /// The allocations of the server since its start.
    uint64_t allocations() {
        uint64_t count = 0;
        std::ifstream(path("count"), std::ios::binary)
            .read(reinterpret_cast<char*>(&count), sizeof count);
        return count;
    }
};

TEST_P(Allocations, NoRequestTakesMemoryFromTheHeap) {
    if (BLKSCOPE_SANITIZED)
        GTEST_SKIP() << "SKIPPED: the sanitizer has a heap of its own in the counter's place";
    constexpr Command commands[] = {Command::read,         Command::write, Command::flush,
                                    Command::block_status, Command::trim,  Command::write_zeroes,
                                    Command::cache};
    serve_counted();
    BatchClient client(uri());
    for (const Command command : commands) client.batches(20, command);
    const uint64_t at_first = allocations();
    EXPECT_GT(at_first, 0u) << "the counter is not there";
    for (const Command command : commands) client.batches(100, command);
    EXPECT_EQ(allocations() - at_first, 0u);
    EXPECT_EQ(read_command_count("read_requests"), 120u * depth);
    EXPECT_GT(allocations(), at_first) << "the counter stands still: a kstat's reader costs some";
}

INSTANTIATE_TEST_SUITE_P(Backings, Allocations, ::testing::Values("file", "memory"),
                         [](const auto& test) { return std::string(test.param); });

// ---- System calls ----

class SystemCalls : public RequestCost {
  protected:
    /// The count of strace, all threads and calls together.
    uint64_t calls_counted() {
        std::ifstream in(path("calls"));
        uint64_t sum = 0;
        for (std::string text; std::getline(in, text);) {
            std::istringstream words(text);
            uint64_t calls = 0;
            std::string name;
            if (words >> calls >> name && name != "total") sum += calls;
        }
        return sum;
    }
};

// On a busy machine the server may be interrupted within a batch, and then needs more calls for it. So the best of
// some tries counts.
TEST_P(SystemCalls, AreSharedByTheRequestsOfABatch) {
    NEEDS("strace");
    constexpr int batches = 200;
    constexpr double calls_max = 0.2 * batches * depth;
    serve(backing());
    BatchClient client(uri());
    client.batches(20, Command::read);
    uint64_t fewest = UINT64_MAX;
    for (int tries = 0; tries < 5 && static_cast<double>(fewest) > calls_max; ++tries) {
        Process strace({"strace", "-f", "-c", "-U", "calls,name", "-o", path("calls"), "-p",
                        std::to_string(server_->pid())},
                       path("strace.log"));
        const bool attached = eventually([&] {
            return strace.output().find("attached") != std::string::npos || !strace.running();
        });
        if (!attached || !strace.running()) {
            GTEST_SKIP() << "SKIPPED: strace may not attach here: " << strace.output();
        }
        client.batches(batches, Command::read);
        strace.signal(SIGINT);
        strace.wait();
        const uint64_t calls = calls_counted();
        EXPECT_GE(calls, static_cast<uint64_t>(batches)) << "not counted: " << strace.output();
        fewest = std::min(fewest, calls);
    }
    EXPECT_LE(static_cast<double>(fewest), calls_max);
    RecordProperty("system_calls_per_1000_requests",
                   static_cast<int>(1000 * fewest / (batches * depth)));
}

INSTANTIATE_TEST_SUITE_P(Backings, SystemCalls, ::testing::Values("file", "memory"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace blkscope::test
