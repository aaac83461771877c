// One attempt to connect again, against a server that follows a script. Most scripts are hostile.

#include "driver/attach/reconnect.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "../failure.hpp"
#include "../temporary_folder.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope {
namespace {

namespace flag = nbd::transmission_flag;
using std::chrono::milliseconds;

constexpr uint64_t kernel_mib = uint64_t{1} << 20;
constexpr milliseconds ample{20'000};
constexpr uint16_t all_used =
    flag::has_flags | flag::send_flush | flag::send_fua | flag::send_trim | flag::can_multi_conn;
constexpr uint16_t both = nbd::handshake_flag::fixed_newstyle | nbd::handshake_flag::no_zeroes;

// A host that has two addresses on every machine: see getaddrinfo() at the end.
constexpr const char* host_of_two = "two.test";
constexpr const char* first_host = "127.0.0.2";
constexpr const char* second_host = "127.0.0.1";

std::string number(uint64_t value, size_t bytes) {
    std::string text;
    for (size_t i = bytes; i-- > 0;) text += static_cast<char>(value >> (8 * i));
    return text;
}

std::string greeting(uint16_t flags = both) {
    return number(nbd::init_magic, 8) + number(nbd::option_magic, 8) + number(flags, 2);
}

void say(int client, const std::string& text) {
    ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
}

std::string hear(int client, size_t bytes) {
    std::string text(bytes, '\0');
    const ssize_t got = ::recv(client, text.data(), bytes, MSG_WAITALL);
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

// A listening socket in a folder of its own. serve() runs a script with the next client.
class Reconnect : public ::testing::Test {
  protected:
    void SetUp() override {
        uri_.socket_path = folder_ / "socket";
        uri_.export_name = "disk";
        const sockaddr_un address = address_of(uri_.socket_path);
        listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ASSERT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address),
                  0);
        ASSERT_EQ(::listen(listener_, 0), 0);
    }
    void TearDown() override {
        ::shutdown(listener_, SHUT_RDWR);  // wakes a server that still waits for its client
        end_server();
        ::close(listener_);
    }

    void serve(const std::function<void(int)>& script) {
        server_ = std::thread([this, script] {
            const int client = ::accept(listener_, nullptr, nullptr);
            if (client < 0) return;
            script(client);
            ::close(client);
        });
    }

    // A server that offers these terms, and keeps the connection until the test ends.
    void serve_offer(uint64_t size_bytes, uint16_t flags) {
        serve([this, size_bytes, flags](int client) {
            say(client, greeting());
            heard_ = hear(client, 4 + 16 + 4);
            say(client, number(size_bytes, 8) + number(flags, 2));
            stay();
        });
    }

    void end_server() {
        done_ = true;
        if (server_.joinable()) server_.join();
    }

    void stay() const {
        while (!done_) std::this_thread::sleep_for(milliseconds(5));
    }

    // The message of the refusal; "none" if there is none.
    std::string refusal(const DeviceTerms& terms) {
        return failure_of<std::runtime_error>([&] { return connect_again(uri_, terms, ample); });
    }

    std::string keep() const { return "keep " + uri_.text() + ": "; }

    static DeviceTerms terms() {
        return {.size_bytes = kernel_mib, .flushes = true, .fua = true, .trims = true};
    }

    const test::TemporaryFolder folder_;
    nbd::Uri uri_;
    int listener_ = -1;
    std::thread server_;
    std::atomic<bool> done_{false};
    std::string heard_;
};

TEST_F(Reconnect, TheSameExportIsConnectedByItsName) {
    serve_offer(kernel_mib, all_used);
    const Descriptor socket = connect_again(uri_, terms(), ample);
    ASSERT_TRUE(socket.is_open());
    end_server();
    EXPECT_EQ(heard_,
              number(3, 4) + number(nbd::option_magic, 8) + number(1, 4) + number(4, 4) + "disk");
}

TEST_F(Reconnect, AServerWithoutTheFlagIsReadUpToItsLastZero) {
    serve([this](int client) {
        say(client, greeting(0));
        heard_ = hear(client, 4 + 16 + 4);
        say(client, number(kernel_mib, 8) + number(all_used, 2) +
                        std::string(nbd::export_name_zeroes, '\0') + "reply");
        stay();
    });
    const Descriptor socket = connect_again(uri_, terms(), ample);
    ASSERT_TRUE(socket.is_open());
    EXPECT_EQ(hear(socket.get(), 5), "reply");
    end_server();
    EXPECT_EQ(heard_.substr(0, 4), number(0, 4));  // a flag that the server lacks is not set
}

TEST_F(Reconnect, WithoutAServerThereIsNoConnection) {
    uri_.socket_path = folder_ / "nothing";
    EXPECT_FALSE(connect_again(uri_, terms(), ample).is_open());
}

TEST_F(Reconnect, AServerThatClosesIsNotThereYet) {
    for (const std::string& said : {std::string(), greeting().substr(0, 17), greeting()}) {
        serve([&](int client) { say(client, said); });
        EXPECT_FALSE(connect_again(uri_, terms(), ample).is_open()) << said.size();
        server_.join();
    }
}

// ---- Servers that would hold it ----

class HeldReconnect : public Reconnect {
  protected:
    // Whether the attempt ends without a connection, and not much later than its limit.
    bool is_given_up() {
        constexpr milliseconds limit{300};
        const auto since = std::chrono::steady_clock::now();
        const bool open = connect_again(uri_, terms(), limit).is_open();
        return !open && std::chrono::steady_clock::now() - since < std::chrono::seconds(10);
    }
};

TEST_F(HeldReconnect, AServerThatSaysNothingIsGivenUp) {
    serve([this](int) { stay(); });
    EXPECT_TRUE(is_given_up());
}

TEST_F(HeldReconnect, AServerThatDoesNotAnswerIsGivenUp) {
    serve([this](int client) {
        say(client, greeting());
        stay();
    });
    EXPECT_TRUE(is_given_up());
}

// Each byte comes soon after the one before, and the last byte comes after half a minute.
TEST_F(HeldReconnect, AServerThatSendsByteByByteIsGivenUp) {
    serve([this](int client) {
        for (const char byte : greeting(0) + std::string(134, '\0')) {
            if (done_) return;
            say(client, std::string(1, byte));
            std::this_thread::sleep_for(milliseconds(200));
        }
    });
    EXPECT_TRUE(is_given_up());
}

// The queue of clients that wait to be accepted is full. A blocking connect() would wait for ever.
TEST_F(HeldReconnect, AServerThatAcceptsNoClientIsGivenUp) {
    std::array<Descriptor, 4> waiting;
    const sockaddr_un address = address_of(uri_.socket_path);
    for (Descriptor& client : waiting) {
        client = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        static_cast<void>(
            ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    }
    EXPECT_TRUE(is_given_up());
}

TEST_F(HeldReconnect, AServerThatSaysNothingOverTcpIsGivenUp) {
    const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
    ASSERT_EQ(::listen(listener.get(), 8), 0);
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    uri_ = {.host = "127.0.0.1", .port = ntohs(address.sin_port), .export_name = "disk"};
    EXPECT_TRUE(is_given_up());
}

// The queue of clients is full at the first address, which is silent therefore.
TEST_F(Reconnect, ASilentAddressLeavesTimeForTheNextOne) {
    const auto listen_at = [](const char* host, uint16_t port, int clients) {
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = port;
        EXPECT_EQ(::inet_pton(AF_INET, host, &address.sin_addr), 1);
        EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(socket, clients), 0);
        return socket;
    };
    const Descriptor silent(listen_at(first_host, 0, 0));
    sockaddr_in address{};
    socklen_t bytes = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::getsockname(silent.get(), generic, &bytes), 0);
    std::array<Descriptor, 4> waiting;
    for (Descriptor& client : waiting) {
        client = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        static_cast<void>(::connect(client.get(), generic, bytes));
    }
    ::close(listener_);
    listener_ = listen_at(second_host, address.sin_port, 8);
    serve_offer(kernel_mib, all_used);
    uri_ = {.host = host_of_two, .port = ntohs(address.sin_port), .export_name = "disk"};
    EXPECT_TRUE(connect_again(uri_, terms(), milliseconds(4000)).is_open());
}

// ---- Servers that are not the one that was there ----

TEST_F(Reconnect, WhatIsNoNbdServerIsRefused) {
    const std::string why =
        "what answers there is no NBD server of the newstyle; see what else uses the address";
    std::string oldstyle = greeting();
    oldstyle[8] = 'X';
    for (const std::string& said : {std::string("SSH-2.0-OpenSSH_9.2\r\n"), oldstyle}) {
        serve([&](int client) {
            say(client, said);
            hear(client, 1);
        });
        EXPECT_EQ(refusal(terms()), keep() + why);
        server_.join();
    }
}

TEST_F(Reconnect, AnotherSizeIsRefused) {
    serve_offer(2 * kernel_mib, all_used);
    EXPECT_EQ(refusal(terms()),
              keep() +
                  "the export has 2097152 bytes now and had 1048576; detach it and attach it "
                  "again");
}

TEST_F(Reconnect, TheSizeIsComparedInWholeBlocks) {
    serve_offer(kernel_mib + 4095, all_used);
    DeviceTerms blocks = terms();
    blocks.block_bytes = 4096;
    EXPECT_EQ(refusal(blocks), "none");
}

struct Difference {
    uint16_t flags;
    DeviceTerms terms;
    const char* words;  // null: no difference
};

class Differences : public Reconnect, public ::testing::WithParamInterface<Difference> {};

TEST_P(Differences, AreNamed) {
    serve_offer(kernel_mib, GetParam().flags);
    DeviceTerms device = GetParam().terms;
    device.size_bytes = kernel_mib;
    const char* const words = GetParam().words;
    EXPECT_EQ(refusal(device), words == nullptr ? "none"
                                                : keep() + "the export " + words +
                                                      "; detach it and attach it again");
}

constexpr DeviceTerms whole{.flushes = true, .fua = true, .trims = true};

INSTANTIATE_TEST_SUITE_P(
    OfTerms, Differences,
    ::testing::Values(
        Difference{all_used | flag::read_only, whole, "is read-only now"},
        Difference{all_used & ~flag::send_flush, whole, "cannot be flushed any more"},
        Difference{all_used & ~flag::send_fua, whole, "has no FUA any more"},
        Difference{all_used & ~flag::send_trim, whole, "cannot be trimmed any more"},
        Difference{all_used, {}, "has a cache now, which the device does not flush"},
        Difference{all_used & ~flag::can_multi_conn,
                   {.flushes = true, .many_connections = true},
                   "allows one connection only now"},
        Difference{flag::has_flags | flag::read_only, whole,
                   "is read-only now, cannot be flushed any more, has no FUA any more, cannot be "
                   "trimmed any more"},
        Difference{all_used & ~flag::has_flags, {.flushes = true}, "cannot be flushed any more"},
        // More than before does no harm, nor does less than the kernel uses.
        Difference{all_used, {.flushes = true}, nullptr},
        Difference{all_used & ~flag::can_multi_conn, whole, nullptr},
        Difference{all_used, {.read_only = true}, nullptr},
        Difference{all_used | flag::read_only, {.read_only = true, .flushes = true}, nullptr}));

// ---- The terms of a device ----

TEST(DeviceTerms, AreWhatTheKernelSaysOfTheDevice) {
    const test::TemporaryFolder folder;
    std::filesystem::create_directory(folder / "queue");
    const auto write = [&](const char* file, const char* text) {
        std::ofstream(folder / file) << text << "\n";
    };
    write("size", "2048");
    write("ro", "0");
    write("queue/logical_block_size", "4096");
    write("queue/write_cache", "write back");
    write("queue/fua", "1");
    write("queue/discard_max_bytes", "2147479552");
    const DeviceTerms expected{
        .size_bytes = kernel_mib, .block_bytes = 4096, .flushes = true, .fua = true, .trims = true};
    EXPECT_EQ(device_terms(folder), expected);
    write("ro", "1");
    write("queue/write_cache", "write through");
    write("queue/discard_max_bytes", "0");
    EXPECT_EQ(device_terms(folder),
              (DeviceTerms{.size_bytes = kernel_mib, .block_bytes = 4096, .read_only = true}));
}

}  // namespace
}  // namespace blkscope

// Replaces the C library's function, which it calls, and adds the host of two addresses.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
    using Function = decltype(&::getaddrinfo);
    static const auto original = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (node == nullptr || std::string_view(node) != blkscope::host_of_two) {
        return original(node, service, hints, found);
    }
    const int error = original(blkscope::first_host, service, hints, found);
    return error != 0 ? error : original(blkscope::second_host, service, hints, &(*found)->ai_next);
}
