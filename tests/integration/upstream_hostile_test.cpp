// blkscope in front of a server that does not keep to the protocol. A client gets EIO in time.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "raw_client.hpp"
#include "upstream_device.hpp"

namespace blkscope::test {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t option_go = 7;
constexpr uint32_t option_structured = 8;
constexpr uint32_t reply_ack = 1;
constexpr uint32_t reply_info = 3;
constexpr uint32_t reply_unsupported = 0x80000001;
constexpr uint16_t chunk_done = 1;
constexpr uint16_t chunk_data = 1;
constexpr uint16_t chunk_hole = 2;
constexpr uint16_t chunk_error = 0x8001;

template <class T>
std::string big(T value) {
    std::string bytes;
    RawClient::append(bytes, value);
    return bytes;
}

/// A request as the server has received it.
struct Asked {
    std::string cookie;
    uint64_t offset;
    uint32_t length;
};

std::string chunk(const Asked& asked, uint16_t flags, uint16_t type, const std::string& payload) {
    return big(uint32_t{0x668e33ef}) + big(flags) + big(type) + asked.cookie +
           big(static_cast<uint32_t>(payload.size())) + payload;
}

/// One client after the other. Each request gets what the test says.
class HostileServer {
  public:
    /// Sends something, and says whether there shall be a next request.
    using Answer = std::function<bool(HostileServer&, const Asked&)>;

    HostileServer(const std::string& path, uint64_t size_bytes, Answer answer, bool drips = false)
        : size_bytes_(size_bytes), answer_(std::move(answer)), drips_(drips) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        ::unlink(path.c_str());
        EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(listen(listening_, 8), 0);
        thread_ = std::thread([this] { serve(); });
    }
    ~HostileServer() {
        ends_.store(true);
        thread_.join();
        ::close(listening_);
    }
    HostileServer(const HostileServer&) = delete;
    HostileServer& operator=(const HostileServer&) = delete;

    /// False if the client has closed.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            if (!ready(POLLOUT)) return false;
            const ssize_t sent = ::send(client_, bytes.data(), drips_ ? 1 : bytes.size(),
                                        MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<size_t>(sent));
            if (drips_) std::this_thread::sleep_for(100ms);
        }
        return true;
    }
    [[nodiscard]] int clients() const { return clients_.load(); }

  private:
    bool ready(short event) {
        pollfd waits{client_, event, 0};
        while (!ends_.load()) {
            if (poll(&waits, 1, 50) > 0) return (waits.revents & event) != 0;
        }
        return false;
    }
    std::string receive(size_t bytes) {
        std::string got(bytes, '\0');
        size_t at = 0;
        while (at < bytes && ready(POLLIN)) {
            const ssize_t part = ::recv(client_, got.data() + at, bytes - at, MSG_DONTWAIT);
            if (part <= 0) break;
            at += static_cast<size_t>(part);
        }
        return at == bytes ? got : "";
    }
    static uint64_t number(std::string_view bytes) {
        uint64_t value = 0;
        for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
        return value;
    }

    void serve() {
        while (!ends_.load()) {
            pollfd waits{listening_, POLLIN, 0};
            if (poll(&waits, 1, 50) <= 0) continue;
            client_ = ::accept(listening_, nullptr, nullptr);
            ++clients_;
            if (greet()) answer_requests();
            ::close(client_);
        }
    }
    bool greet() {
        if (!send("NBDMAGICIHAVEOPT" + big(uint16_t{3})) || receive(4).empty()) return false;
        for (;;) {
            const std::string header = receive(16);
            if (header.empty()) return false;
            const auto option = static_cast<uint32_t>(number(header.substr(8, 4)));
            const size_t bytes = number(header.substr(12, 4));
            if (bytes > 0 && receive(bytes).empty()) return false;
            if (option == option_go) {
                const uint16_t flags = 0x6d;  // has flags, flush, fua, trim, write_zeroes
                const std::string info = big(uint16_t{0}) + big(size_bytes_) + big(flags);
                return reply(option, reply_info, info) && reply(option, reply_ack, "");
            }
            const bool known = option == option_structured;
            if (!reply(option, known ? reply_ack : reply_unsupported, "")) return false;
        }
    }
    bool reply(uint32_t option, uint32_t type, const std::string& data) {
        return send(big(uint64_t{0x3e889045565a9}) + big(option) + big(type) +
                    big(static_cast<uint32_t>(data.size())) + data);
    }
    void answer_requests() {
        for (;;) {
            const std::string header = receive(28);
            if (header.empty()) return;
            const Asked asked{header.substr(8, 8), number(header.substr(16, 8)),
                              static_cast<uint32_t>(number(header.substr(24, 4)))};
            if (!answer_(*this, asked)) return;
        }
    }

    const uint64_t size_bytes_;
    const Answer answer_;
    const bool drips_;
    const int listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client_ = -1;
    std::atomic<bool> ends_{false};
    std::atomic<int> clients_{0};
    std::thread thread_;
};

class UpstreamHostile : public Upstream {
  protected:
    /// A client in front of such a server gets EIO in time. Later a good server is served.
    void expect_eio(const HostileServer::Answer& answer) {
        make_data("disk.img");
        {
            HostileServer hostile(path("up.sock"), image_bytes, answer);
            serve("disk=" + our_uri(), {"--upstream-timeout", "1"});
            Client client(uri());
            const auto began = std::chrono::steady_clock::now();
            EXPECT_EQ(client.try_read(0, 4096), EIO);
            EXPECT_LT(std::chrono::steady_clock::now() - began, 8s);
            EXPECT_GT(hostile.clients(), 0);
        }
        start_ours();
        Client client(uri());
        ASSERT_TRUE(eventually([&] { return client.try_read(3 * mib, 4) == 0; }));
        EXPECT_EQ(client.read(3 * mib, 4), std::vector<char>(4, 'd'));
        EXPECT_EQ(stop_server(), 0);
    }
    static std::string data_of(const Asked& asked, uint64_t offset, size_t bytes) {
        return chunk(asked, 0, chunk_data, big(offset) + std::string(bytes, 'x'));
    }
};

TEST_F(UpstreamHostile, Nonsense) {
    expect_eio(
        [](HostileServer& server, const Asked&) { return server.send(std::string(64, 'x')); });
}

TEST_F(UpstreamHostile, AnAnswerThatNobodyAskedFor) {
    expect_eio([](HostileServer& server, Asked asked) {
        asked.cookie.back() = static_cast<char>(asked.cookie.back() + 1);
        return server.send(chunk(asked, chunk_done, 0, ""));
    });
}

TEST_F(UpstreamHostile, DataOfAWrongLength) {
    expect_eio([](HostileServer& server, const Asked& asked) {
        return server.send(data_of(asked, asked.offset, asked.length + 512));
    });
}

TEST_F(UpstreamHostile, DataBesideTheRequest) {
    expect_eio([](HostileServer& server, const Asked& asked) {
        return server.send(data_of(asked, asked.offset + asked.length, 512));
    });
}

TEST_F(UpstreamHostile, ALengthThatNoChunkHas) {
    expect_eio([](HostileServer& server, const Asked& asked) {
        return server.send(big(uint32_t{0x668e33ef}) + big(chunk_done) + big(chunk_hole) +
                           asked.cookie + big(uint32_t{0xffffffff}));
    });
}

TEST_F(UpstreamHostile, AReadWithoutData) {
    expect_eio([](HostileServer& server, const Asked& asked) {
        return server.send(chunk(asked, chunk_done, 0, ""));
    });
}

TEST_F(UpstreamHostile, ChunksWithoutEnd) {
    expect_eio([](HostileServer& server, const Asked& asked) {
        while (server.send(data_of(asked, asked.offset, 1))) {
        }
        return false;
    });
}

TEST_F(UpstreamHostile, EmptyChunksWithoutEnd) {
    expect_eio([](HostileServer& server, const Asked& asked) {
        while (server.send(chunk(asked, 0, 0, ""))) {
        }
        return false;
    });
}

TEST_F(UpstreamHostile, ErrorsWithoutEnd) {
    expect_eio([](HostileServer& server, const Asked& asked) {
        const std::string error = big(uint32_t{22}) + big(uint16_t{0});
        while (server.send(chunk(asked, 0, chunk_error, error))) {
        }
        return false;
    });
}

TEST_F(UpstreamHostile, AnAnswerThatDrips) {
    expect_eio([](HostileServer& server, const Asked& asked) {
        const std::string all = data_of(asked, asked.offset, asked.length);
        for (const char byte : all) {
            if (!server.send({&byte, 1})) return false;
            std::this_thread::sleep_for(20ms);
        }
        return true;
    });
}

TEST_F(UpstreamHostile, AHandshakeThatDripsEndsTheStartInTime) {
    HostileServer dripping(
        path("up.sock"), image_bytes, [](HostileServer&, const Asked&) { return false; }, true);
    const auto began = std::chrono::steady_clock::now();
    const std::string said = refused({"serve", our_uri(), "--unix", path("us.sock")}, 1);
    EXPECT_NE(said.find("does not answer in time"), std::string::npos) << said;
    EXPECT_LT(std::chrono::steady_clock::now() - began, 8s);
}

// The start reads the partition table of each export.
TEST_F(UpstreamHostile, ASignalEndsAStartThatWaitsForAnAnswer) {
    std::atomic<bool> asked{false};
    HostileServer silent(path("up.sock"), image_bytes, [&](HostileServer&, const Asked&) {
        asked.store(true);
        return true;
    });
    Process starting({BLKSCOPE_BINARY, "serve", our_uri(), "--unix", path("us.sock")},
                     path("out"));
    ASSERT_TRUE(eventually([&] { return asked.load(); }));
    const auto began = std::chrono::steady_clock::now();
    starting.signal(SIGTERM);
    EXPECT_EQ(starting.wait(), 128 + SIGTERM);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
}

TEST_F(UpstreamHostile, AHandshakeThatDripsCostsARequestItsTime) {
    serve_chain({"--upstream-timeout", "2"});
    Client client(uri());
    ASSERT_EQ(client.try_read(0, 4096), 0);
    kill_upstream();
    HostileServer dripping(
        path("up.sock"), image_bytes, [](HostileServer&, const Asked&) { return false; }, true);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(client.try_read(0, 4096), EIO);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 8s);
    EXPECT_GT(dripping.clients(), 0);
}

// Statistics, new clients and a stop have the thread that reloads.
class ReloadElsewhere : public UpstreamHostile {
  protected:
    static constexpr const char* quiet = R"({"name": "quiet", "backing": "memory:1M"})";

    /// Begins a reload that adds an export behind a server which does not answer in time.
    void begin_reload() {
        configure(quiet);
        serve_with({"--config", path("lab.json")});
        dripping_ = std::make_unique<HostileServer>(
            path("up.sock"), image_bytes, [](HostileServer&, const Asked&) { return false; }, true);
        configure(std::string(quiet) + R"(, {"name": "far", "backing": ")" + our_uri() + "\"}");
        server_->signal(SIGHUP);
        ASSERT_TRUE(eventually([&] { return dripping_->clients() > 0; }));
    }
    [[nodiscard]] bool has_ended() const {
        return server_->output().find("everything stays as it was") != std::string::npos;
    }

    std::unique_ptr<HostileServer> dripping_;
};

TEST_F(ReloadElsewhere, HoldsUpNeitherClientsNorStatistics) {
    begin_reload();
    EXPECT_EQ(Client(uri("quiet")).try_write(0, 512), 0);
    const std::string listed = succeed({BLKSCOPE_BINARY, "list"});
    EXPECT_NE(listed.find("quiet"), std::string::npos) << listed;
    EXPECT_FALSE(has_ended());
    EXPECT_TRUE(eventually([&] { return has_ended(); })) << server_->output();
    EXPECT_EQ(Client(uri("quiet")).try_write(0, 512), 0);
    dripping_.reset();
    make_data("disk.img");
    start_ours();
    reload("1 added, 0 replaced, 0 removed");
    EXPECT_EQ(Client(uri("far")).try_read(0, 512), 0);
}

TEST_F(ReloadElsewhere, SignalsThatComeMeanwhileAreOneMoreReload) {
    begin_reload();
    configure(quiet);
    for (int i = 0; i < 20; ++i) {
        server_->signal(SIGHUP);
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_FALSE(has_ended());
    EXPECT_TRUE(eventually([&] { return has_ended(); })) << server_->output();
    configure(std::string(quiet) + R"(, {"name": "next", "backing": "memory:1M"})");
    reload("1 added, 0 replaced, 0 removed");
    const std::string said = server_->output();
    const std::string without_change = "0 added, 0 replaced, 0 removed";
    EXPECT_EQ(said.find(without_change), said.rfind(without_change)) << said;
}

TEST_F(ReloadElsewhere, HoldsUpNobodyWhileItReadsAPartitionTable) {
    configure(quiet);
    serve_with({"--config", path("lab.json")});
    HostileServer slow(path("up.sock"), image_bytes, [](HostileServer& server, const Asked& asked) {
        std::this_thread::sleep_for(1200ms);
        return server.send(data_of(asked, asked.offset, asked.length));
    });
    configure(std::string(quiet) + R"(, {"name": "far", "backing": ")" + our_uri() + "\"}");
    server_->signal(SIGHUP);
    auto longest = std::chrono::steady_clock::duration::zero();
    EXPECT_TRUE(eventually([&] {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_EQ(Client(uri("quiet")).try_write(0, 512), 0);
        longest = std::max(longest, std::chrono::steady_clock::now() - begin);
        return server_->output().find("1 added, 0 replaced, 0 removed") != std::string::npos;
    })) << server_->output();
    EXPECT_LT(longest, 1s);
}

TEST_F(ReloadElsewhere, HoldsUpNoStop) {
    begin_reload();
    EXPECT_EQ(stop_server(), 0);
    EXPECT_FALSE(has_ended());
}

// Many handshakes with TLS are under way at the end of the process.
TEST_F(ReloadElsewhere, HoldsUpNoStopOverTls) {
    const std::string keys = path("keys.psk");
    std::ofstream(keys) << "alice:0123456789abcdef0123456789abcdef\n";
    std::filesystem::permissions(keys, std::filesystem::perms::owner_read);
    make_data("disk.img");
    start_ours("disk.img", {"--tls", "require", "--tls-psk", keys});
    std::string exports = quiet;
    for (const char* name : {"one", "two", "three", "four"}) {
        exports += R"(, {"name": ")" + std::string(name) +
                   R"(", "upstream-connections": 16, "backing": "nbds+unix://alice@/disk?socket=)" +
                   path("up.sock") + "&tls-psk-file=" + keys + "\"}";
    }
    for (const auto moment : {5ms, 15ms, 30ms, 50ms, 80ms}) {
        configure(quiet);
        std::filesystem::remove(socket_);
        serve_with({"--config", path("lab.json")});
        configure(exports);
        server_->signal(SIGHUP);
        std::this_thread::sleep_for(moment);
        EXPECT_EQ(stop_server(), 0) << server_->output();
    }
}

}  // namespace
}  // namespace blkscope::test
