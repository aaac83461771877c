// The server against raw sockets: clients that are slow, half, many or hostile.

#include "tools/web/server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace blkscope::web {
namespace {

using std::chrono::milliseconds;

class FakeHandler : public Handler {
  public:
    Response respond(const Request& request) override {
        ++requests;
        if (request.path == "/stream") return {.type = "text/event-stream", .is_stream = true};
        if (request.path == "/large") return {.body = large};
        if (request.path == "/other") {
            return {.body = std::make_shared<const std::string>(large->size(), 'y')};
        }
        return text_response(200, request.path + "\n");
    }
    Body event() override { return std::make_shared<const std::string>(event_text); }
    void end_turn() override { ++turns; }

    std::atomic<int> requests{0};
    std::atomic<int> turns{0};
    Body large = std::make_shared<const std::string>(4'000'000, 'x');
    std::string event_text = "data: 1\n\n";
};

class Client {
  public:
    explicit Client(const sockaddr_in& address)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int small = 4096;
        setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        EXPECT_EQ(
            ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
    }

    void send(const std::string& text) const {
        EXPECT_EQ(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }
    /// The same, where the server may have closed the connection.
    void try_send(const std::string& text) const {
        static_cast<void>(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL));
    }
    void get(const std::string& path) const {
        send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    void end_sending() const { ::shutdown(socket_.get(), SHUT_WR); }

    /// Reads until the text has `end`, or until the server closes the connection.
    std::string read_until(const std::string& end) {
        while (text_.find(end) == std::string::npos && receive()) {
        }
        const size_t at = text_.find(end);
        const size_t length = at == std::string::npos ? text_.size() : at + end.size();
        const std::string read = text_.substr(0, length);
        text_.erase(0, length);
        return read;
    }
    std::string read_all() { return read_until("\x01 never sent"); }

    /// Whether the server has closed the connection, with bytes before or without.
    bool is_closed() {
        while (receive()) {
        }
        return closed_;
    }

  private:
    bool receive() {
        pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&readable, 1, 20'000) <= 0)
            return false;  // a server that forgets us fails the test
        std::array<char, 65536> chunk;
        const ssize_t count = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
        closed_ = count <= 0;
        if (!closed_) text_.append(chunk.data(), static_cast<size_t>(count));
        return !closed_;
    }

    Descriptor socket_;
    std::string text_;
    bool closed_ = false;
};

class WebServer : public testing::Test {
  protected:
    void start(const ServerLimits& limits = {}) {
        Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const address = reinterpret_cast<sockaddr*>(&address_);
        ASSERT_EQ(::bind(listener.get(), address, sizeof address_), 0);
        ASSERT_EQ(::listen(listener.get(), 1024), 0);
        socklen_t length = sizeof address_;
        ASSERT_EQ(getsockname(listener.get(), address, &length), 0);
        server_.emplace(std::move(listener), handler_, limits);
        thread_ = std::thread([this] { server_->run(); });
    }
    void TearDown() override {
        if (!server_) return;
        server_->stop();
        thread_.join();
    }
    Client client() { return Client(address_); }
    // Whether a client of its own gets this beginning of a reply. The server may close the client
    // instead, where a test gives clients little time.
    bool gets(const std::string& path, const std::string& beginning) {
        Client one = client();
        one.try_send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
        return one.read_until("\r\n").starts_with(beginning);
    }
    bool eventually_gets(const std::string& path, const std::string& beginning) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (std::chrono::steady_clock::now() < end) {
            if (gets(path, beginning)) return true;
        }
        return false;
    }
    void expect_served() { EXPECT_TRUE(eventually_gets("/still", "HTTP/1.1 200 OK")); }

    FakeHandler handler_;
    sockaddr_in address_{};
    std::optional<Server> server_;
    std::thread thread_;
};

TEST_F(WebServer, RepliesWithStrictFieldsAndKeepsTheConnection) {
    start();
    Client one = client();
    one.get("/first");
    const std::string reply = one.read_until("/first\n");
    EXPECT_TRUE(
        reply.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
                          "Content-Length: 7\r\n"))
        << reply;
    for (const char* field :
         {"Content-Security-Policy: default-src 'none'", "nosniff",
          "Cross-Origin-Resource-Policy: same-origin", "Connection: keep-alive"}) {
        EXPECT_NE(reply.find(field), std::string::npos) << field;
    }
    EXPECT_EQ(reply.find("Access-Control"), std::string::npos);
    one.send("HEAD /second HTTP/1.1\r\nHost: a\r\n\r\nGET /third HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_NE(one.read_until("\r\n\r\n").find("Content-Length: 8"), std::string::npos);
    EXPECT_NE(one.read_until("/third\n").find("Content-Length: 7"), std::string::npos);
}

TEST_F(WebServer, AClientThatHasEndedItsDirectionGetsItsReply) {
    start();
    Client one = client();
    one.get("/large");
    one.end_sending();
    EXPECT_EQ(one.read_all().size() / 1'000'000, 4u);
    Client two = client();
    two.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(two.read_all().ends_with("\r\n\r\n/\n"));
}

TEST_F(WebServer, EachRefusalIsAReplyAndTheEnd) {
    start();
    const std::vector<std::pair<std::string, std::string>> all{
        {"POST / HTTP/1.1\r\nHost: a\r\n\r\n", "405"},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123456789", "413"},
        {"GET /" + std::string(3000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n", "414"},
        {"GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x'), "431"},
        {"\x16\x03\x01\x05 hello", "400"},
        {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", "505"}};
    for (const auto& [text, status] : all) {
        Client one = client();
        one.send(text);
        one.end_sending();
        EXPECT_TRUE(one.read_all().starts_with("HTTP/1.1 " + status + " ")) << text.substr(0, 40);
    }
    EXPECT_EQ(handler_.requests, 0);
    expect_served();
}

TEST_F(WebServer, TenThousandRequestsAreAnswered) {
    start();
    constexpr int clients = 10;
    constexpr int each = 1000;
    const std::string request = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    std::vector<Client> open;
    for (int i = 0; i < clients; ++i) open.push_back(client());
    for (int sent = 0; sent < each; sent += 20) {
        std::string batch;
        for (int i = 0; i < 20; ++i) batch += request;
        for (const Client& one : open) one.send(batch);
        for (Client& one : open) {
            for (int i = 0; i < 20; ++i)
                ASSERT_TRUE(one.read_until("/x\n").ends_with("\r\n\r\n/x\n"));
        }
    }
    EXPECT_EQ(handler_.requests, clients * each);
    EXPECT_GT(handler_.turns, 0);
}

TEST_F(WebServer, SlowAndHalfRequestsEndAndOthersAreServed) {
    start({.head_time = milliseconds(50), .idle_time = milliseconds(50)});
    Client silent = client();
    Client half = client();
    half.try_send("GET / HT");
    Client idle = client();
    idle.try_send("GET /idle HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_served();
    EXPECT_TRUE(silent.is_closed());
    EXPECT_TRUE(half.is_closed());
    EXPECT_TRUE(idle.is_closed());
    expect_served();
}

TEST_F(WebServer, AHeadThatComesByteByByteHasOneTimeForAllOfIt) {
    start({.head_time = milliseconds(100)});
    Client slow = client();
    const std::string head = "GET /" + std::string(2000, 'x');
    const auto began = std::chrono::steady_clock::now();
    for (const char c : head) {
        slow.try_send(std::string(1, c));
        std::this_thread::sleep_for(milliseconds(1));
        if (std::chrono::steady_clock::now() - began > milliseconds(300)) break;
    }
    EXPECT_TRUE(slow.is_closed());
    EXPECT_EQ(handler_.requests, 0);
}

TEST_F(WebServer, TheOldestSilentClientMakesRoom) {
    start({.connections_max = 20});
    std::vector<Client> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(client());
    expect_served();
    EXPECT_TRUE(silent.front().is_closed());
    for (int i = 0; i < 100; ++i) expect_served();
}

TEST_F(WebServer, ThreeHundredUnreadStreamsCostABoundedMemory) {
    handler_.event_text = "data: " + std::string(1'000'000, 'e') + "\n\n";
    constexpr std::chrono::hours long_time(1);  // a busy machine ends no client meanwhile
    start({.connections_max = 400,
           .streams_max = 100,
           .head_time = long_time,
           .reply_time = long_time,
           .drain_time = long_time,
           .stall_time = long_time,
           .event_interval = milliseconds(10)});
    std::vector<Client> streams;
    for (int i = 0; i < 300; ++i) {
        streams.push_back(client());
        streams.back().get("/stream");
    }
    for (int i = 0; i < 50; ++i) expect_served();
    int refused = 0;
    for (Client& one : streams) {
        if (one.read_until("\r\n\r\n").starts_with("HTTP/1.1 503 ")) ++refused;
    }
    EXPECT_EQ(refused, 200);
}

TEST_F(WebServer, AStreamGetsEventsAndMissesThoseThatItCannotTake) {
    start({.event_interval = milliseconds(1)});
    Client one = client();
    one.get("/stream");
    EXPECT_NE(one.read_until("\r\n\r\n").find("Content-Type: text/event-stream"),
              std::string::npos);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(one.read_until("\n\n"), "data: 1\n\n");
    one.end_sending();
    EXPECT_TRUE(one.is_closed());
    expect_served();
}

// There is one place, which is free when the first client is closed.
TEST_F(WebServer, AStreamThatReadsNothingIsClosed) {
    handler_.event_text = "data: " + std::string(8'000'000, 'e') + "\n\n";
    start({.streams_max = 1, .stall_time = milliseconds(50), .event_interval = milliseconds(10)});
    Client one = client();
    one.get("/stream");
    one.read_until("\r\n\r\n");
    EXPECT_TRUE(eventually_gets("/stream", "HTTP/1.1 200 "));
}

TEST_F(WebServer, AReplyThatIsNotReadIsClosed) {
    handler_.large = std::make_shared<const std::string>(16'000'000, 'x');
    start({.connections_max = 1, .reply_time = milliseconds(50)});
    Client one = client();
    one.get("/large");
    one.read_until("\r\n\r\n");
    expect_served();
    EXPECT_LT(one.read_all().size(), 16'000'000u);
}

TEST_F(WebServer, TheSlowestClientsMakeRoomForLargeReplies) {
    start({.bodies_bytes_max = 20'000'000});
    std::vector<Client> slow;
    for (int i = 0; i < 12; ++i) {
        slow.push_back(client());
        slow.back().send("GET /other HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        slow.back().read_until("\r\n\r\n");
    }
    expect_served();
    EXPECT_LT(slow.front().read_all().size(), 4'000'000u);
    EXPECT_EQ(slow.back().read_all().size(), 4'000'000u);
}

}  // namespace
}  // namespace blkscope::web
